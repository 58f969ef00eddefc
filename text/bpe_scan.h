/* bpe_scan.h - the two large tables of a tokenizer file, the vocabulary and the merges, without a
 * tree of JSON nodes: 300 thousand of them cost 60 MB and most of the time of opening. The rest of
 * the file, a few kilobytes, is handed out for cJSON. For text/bpe*.c only. */
#ifndef OC_TEXT_BPE_SCAN_H
#define OC_TEXT_BPE_SCAN_H

#include "runtime/base/json.h"
#include "text/bpe_tables.h"

/* An object or a list in the text, brackets included. */
typedef struct oc_bpe_span {
    const char *begin, *end; /* NULL: the file has no such value */
    size_t count;            /* entries */
    size_t keys;             /* of an object: bytes of all keys, as they are written */
    size_t longest;          /* bytes of the longest entry, as it is written */
} oc_bpe_span;

/* One file, mapped, or a text in memory. */
typedef struct oc_bpe_scan {
    char *name;
    oc_map map;                 /* of the file */
    const unsigned char *bytes; /* [size] of either */
    size_t size;
    oc_hash hash; /* of these bytes */
    oc_bpe_span vocabulary, merges;
    char *spellings; /* of the words, decoded, end to end, each NUL-ended; owned */
} oc_bpe_scan;

/* Maps the file; more than OC_JSON_LIMIT is refused. */
ocelli_status oc_bpe_scan_open(oc_bpe_scan *out, const char *path, ocelli_error *err);
/* The same of a text in memory, which is borrowed and must outlive the scan. */
ocelli_status oc_bpe_scan_use(oc_bpe_scan *out, const char *name, const char *text, size_t size,
                              ocelli_error *err);
void oc_bpe_scan_close(oc_bpe_scan *scan);

/* Finds model.vocab, if it is an object, and model.merges, if it is a list, and parses the rest:
 * *rest is the file with both of them empty. All of the file is checked to be JSON, more strictly
 * than cJSON does. OCELLI_E_FORMAT. */
ocelli_status oc_bpe_scan_tokenizer(oc_bpe_scan *scan, oc_json *rest, ocelli_error *err);
/* The same for a vocab.json, which is nothing but the vocabulary. */
ocelli_status oc_bpe_scan_vocabulary(oc_bpe_scan *scan, ocelli_error *err);

/* Hands every entry to the builder; once: the builder borrows the spellings, which scan owns. */
ocelli_status oc_bpe_scan_words(oc_bpe_scan *scan, oc_bpe_builder *builder, ocelli_error *err);
ocelli_status oc_bpe_scan_merges(const oc_bpe_scan *scan, oc_bpe_builder *builder,
                                 ocelli_error *err);

#endif
