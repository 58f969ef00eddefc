/* bpe.h - the byte-level BPE of a tokenizer.json: text to ids and back. */
#ifndef OC_TEXT_BPE_H
#define OC_TEXT_BPE_H

#include "runtime/base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct oc_bpe oc_bpe;

/* Reads directory/tokenizer.json: model.vocab, model.merges ("a b" strings or ["a","b"] pairs),
 * added_tokens. Refuses what is not a BPE with the Qwen pre-tokeniser and NFC, ids that repeat or
 * are not below id_limit (the embedding table's rows), merges of unknown tokens. The JSON tree is
 * dropped once the tables are built. */
ocelli_status oc_bpe_open(oc_bpe **out, const char *directory, size_t id_limit, ocelli_error *err);
void oc_bpe_close(oc_bpe *bpe);

/* A piece of the text to encode. Added tokens are found only inside runs with special set; apart
 * from that the runs are one text: the pre-tokeniser and NFC reach across their borders. */
typedef struct oc_text_run {
    const char *text;
    size_t length;
    bool special;
} oc_text_run;

typedef struct oc_ids {
    int32_t *ids; /* [count], owned: oc_ids_close */
    size_t count, capacity;
} oc_ids;
void oc_ids_close(oc_ids *ids);
ocelli_status oc_ids_push(oc_ids *ids, int32_t id, ocelli_error *err);

/* Appends the ids of the runs. Text that is not well-formed UTF-8 is OCELLI_E_ARGUMENT. */
ocelli_status oc_bpe_encode(const oc_bpe *bpe, const oc_text_run *runs, size_t count, oc_ids *out,
                            ocelli_error *err);

/* Bytes of one id (an added token: its text), valid while bpe lives; *length 0 for an id that the
 * tokenizer does not have. Not necessarily whole characters. */
const char *oc_bpe_bytes(const oc_bpe *bpe, int32_t id, size_t *length);
/* True for added tokens marked special (dropped from answers). */
bool oc_bpe_is_special(const oc_bpe *bpe, int32_t id);
/* Id of an added token or a vocabulary entry given by its plain text; -1 if there is none. */
int32_t oc_bpe_find_added(const oc_bpe *bpe, const char *text);
/* One more than the largest id. */
size_t oc_bpe_size(const oc_bpe *bpe);

#endif
