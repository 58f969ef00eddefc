/* bpe.h - the byte-level BPE of a tokenizer.json: text to ids and back. */
#ifndef OC_TEXT_BPE_H
#define OC_TEXT_BPE_H

#include "runtime/base/buffer.h"
#include "runtime/base/hash.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct oc_bpe oc_bpe;

/* Reads directory/tokenizer.json: model.vocab, model.merges ("a b" strings or ["a","b"] pairs),
 * added_tokens; if it is absent, vocab.json, merges.txt and tokenizer_config.json, the older form
 * of a Qwen2Tokenizer. Refuses what is not a BPE with the Qwen pre-tokeniser and NFC, options that
 * would change ids, ids that repeat or are not below id_limit (the embedding table's rows), merges
 * of unknown tokens, a vocabulary without all 256 bytes. Ids may have holes. OCELLI_E_IO,
 * OCELLI_E_FORMAT (damaged), OCELLI_E_UNSUPPORTED (another pipeline);
 * the message names the file. */
ocelli_status oc_bpe_open(oc_bpe **out, const char *directory, size_t id_limit, ocelli_error *err);
/* The same from a tokenizer.json in memory; name is for messages. */
ocelli_status oc_bpe_open_text(oc_bpe **out, const char *name, const char *text, size_t size,
                               size_t id_limit, ocelli_error *err);
void oc_bpe_close(oc_bpe *bpe);

/* The compiled form: the tables as one block, borrowed from bpe, to be written to a file as it is.
 * The same tokenizer files always give the same bytes. */
const void *oc_bpe_image(const oc_bpe *bpe, size_t *size);
/* Opens such a file, mapped and used in place. Nothing in it is trusted: all counts, offsets and
 * ids are checked, in one pass, so a wrong image gives at worst wrong ids below id_limit.
 * OCELLI_E_IO, OCELLI_E_FORMAT (damaged, more ids than id_limit), OCELLI_E_UNSUPPORTED (another
 * version or byte order). */
ocelli_status oc_bpe_open_image(oc_bpe **out, const char *path, size_t id_limit, ocelli_error *err);
/* The hash of the tokenizer.json that the tables were made from, through an image too; of the older
 * files: of vocab.json, merges.txt and tokenizer_config.json in this order, end to end. */
oc_hash oc_bpe_source(const oc_bpe *bpe);

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

/* Appends the ids of the runs; after a failure out is as it was. Every run must be well-formed
 * UTF-8 by itself, else OCELLI_E_ARGUMENT. Added tokens are found in the text as it comes, the
 * leftmost and longest first; what lies between is composed (NFC), split and merged. */
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
