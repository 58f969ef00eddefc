/* bpe_tables.h - the tables behind bpe.h and how they are filled; for text/bpe*.c only. */
#ifndef OC_TEXT_BPE_TABLES_H
#define OC_TEXT_BPE_TABLES_H

#include "text/bpe.h"

#include <cjson/cJSON.h>

/* Ids are table indices, so a wild one would cost memory: sixteen times the vocabulary of Qwen3. */
#define OC_BPE_ID_LIMIT ((size_t)1 << 21)
/* Bytes of an added token. Matching looks at most this far ahead at every position. */
#define OC_BPE_ADDED_LIMIT ((size_t)1024)

/* A pair of neighbouring ids that becomes one. */
typedef struct oc_bpe_merge {
    uint64_t pair; /* left id in the high half, right id in the low one; UINT64_MAX: a free slot */
    uint32_t rank; /* lower ranks merge first */
    int32_t id;
} oc_bpe_merge;

typedef struct oc_bpe_added {
    const char *text; /* [length], in the arena of oc_bpe */
    size_t length;
    int32_t id;
} oc_bpe_added;

struct oc_bpe {
    size_t size;      /* one more than the largest id */
    oc_buffer bytes;  /* of all tokens, end to end */
    uint32_t *begin;  /* [size] offset into bytes */
    uint32_t *length; /* [size] 0: no such id */
    uint8_t *special; /* [size] 1: an added token marked special */
    int32_t byte_id[256];
    oc_bpe_merge *merges; /* [merge_slots], open addressing; merge_slots is a power of two */
    size_t merge_slots;
    oc_bpe_added
        *added; /* [added_count], in order of their bytes, a prefix before what it begins */
    size_t added_count;
    size_t
        added_first[257]; /* those that start with byte b: added_first[b] .. added_first[b + 1] */
};

/* The merge of two ids; NULL if there is none. */
const oc_bpe_merge *oc_bpe_find_merge(const oc_bpe *bpe, int32_t left, int32_t right);

/* Filling: begin, every word of the vocabulary, then merges and added tokens, then finish. */
typedef struct oc_bpe_builder {
    oc_bpe *bpe;
    const char *file; /* for messages */
    size_t id_limit;
    size_t capacity; /* ids that begin, length and special have room for */
    /* Spelling to id, open addressing. Spellings are borrowed: from a tree that outlives this. */
    struct oc_bpe_word {
        const char *spelling; /* NULL: free */
        int32_t id;
    } * words;
    size_t word_slots;
    oc_buffer joined; /* the two parts of a merge */
    uint32_t merge_count;
    size_t added_room;
} oc_bpe_builder;

/* words, merges, added: how many will come at most. */
ocelli_status oc_bpe_builder_open(oc_bpe_builder *builder, const char *file, size_t id_limit,
                                  size_t words, size_t merges, size_t added, ocelli_error *err);
void oc_bpe_builder_close(oc_bpe_builder *builder);
/* One entry "spelling": id of the vocabulary, spelled in the byte alphabet of GPT-2. */
ocelli_status oc_bpe_builder_word(oc_bpe_builder *builder, const cJSON *entry, ocelli_error *err);
/* The next merge, two spellings by pointer and length. */
ocelli_status oc_bpe_builder_merge(oc_bpe_builder *builder, const char *left, size_t left_length,
                                   const char *right, size_t right_length, ocelli_error *err);
/* "left right" with exactly one blank. */
ocelli_status oc_bpe_builder_merge_line(oc_bpe_builder *builder, const char *line, size_t length,
                                        ocelli_error *err);
ocelli_status oc_bpe_builder_added(oc_bpe_builder *builder, int64_t id, const char *content,
                                   bool special, ocelli_error *err);
/* Hands the finished tables over; the builder is left without them. */
ocelli_status oc_bpe_builder_finish(oc_bpe_builder *builder, oc_bpe **out, ocelli_error *err);

/* bpe_load.c, bpe_legacy.c: the two forms on disk. */
ocelli_status oc_bpe_load_json(oc_bpe **out, const char *path, size_t id_limit, ocelli_error *err);
ocelli_status oc_bpe_load_legacy(oc_bpe **out, const char *directory, size_t id_limit,
                                 ocelli_error *err);
/* One added token of either form (the keys are the same): content, special and the flags that would
 * change matching, which are refused. */
ocelli_status oc_bpe_load_added(oc_bpe_builder *builder, const cJSON *node, int64_t id,
                                ocelli_error *err);

#endif
