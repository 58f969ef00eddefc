/* bpe_tables.h - the tables behind bpe.h and how they are filled; for text/bpe*.c only. */
#ifndef OC_TEXT_BPE_TABLES_H
#define OC_TEXT_BPE_TABLES_H

#include "runtime/base/file.h"
#include "text/bpe.h"

#include <cjson/cJSON.h>

/* Ids are table indices, so a wild one would cost memory: sixteen times the vocabulary of Qwen3. */
#define OC_BPE_ID_LIMIT ((size_t)1 << 21)
/* Bytes of an added token. Matching looks at most this far ahead at every position. */
#define OC_BPE_ADDED_LIMIT ((size_t)1024)

/* The pre-tokeniser's pattern, as tokenizer.json has it; split.c is its matcher. */
#define OC_BPE_PATTERN                                                                             \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+"      \
    "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* A pair of neighbouring ids that becomes one. */
typedef struct oc_bpe_merge {
    uint64_t pair; /* left id in the high half, right id in the low one; UINT64_MAX: a free slot */
    uint32_t rank; /* lower ranks merge first */
    int32_t id;
} oc_bpe_merge;

/* The arrays stand in one image (bpe_image.h), which was built here or is mapped from a file. */
struct oc_bpe {
    size_t size;                /* one more than the largest id */
    const char *bytes;          /* [bytes_size] of all tokens, end to end */
    size_t bytes_size;          /* */
    const uint32_t *begin;      /* [size] offset into bytes */
    const uint32_t *length;     /* [size] 0: no such id */
    const uint8_t *special;     /* [size] 1: an added token marked special */
    const int32_t *byte_id;     /* [256] */
    const oc_bpe_merge *merges; /* [merge_slots], open addressing; a power of two, never full */
    size_t merge_slots;
    const int32_t *added; /* [added_count] ids in order of their bytes, a prefix before what it
                             begins */
    size_t added_count;
    oc_hash source; /* of the files that the tables were made from */
    /* Not in the image. Those that start with byte b: added_first[b] .. added_first[b + 1]. */
    uint32_t added_first[257];
    const void *image; /* [image_size] */
    size_t image_size;
    void *block; /* the image, if it is ours */
    oc_map map;  /* the file it is mapped from, otherwise */
};

static inline uint64_t oc_bpe_pair(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* Where a pair belongs; taken, it goes to the next free slot. Ids are small and dense; this spreads
 * them over all bits (the finaliser of splitmix64). It is part of the image's format. */
static inline size_t oc_bpe_merge_home(uint64_t pair, size_t slots)
{
    pair = (pair ^ pair >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    pair = (pair ^ pair >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(pair ^ pair >> 31) & (slots - 1);
}

/* The slot of a pair, or the free one where it would go. */
static inline size_t oc_bpe_merge_slot(const oc_bpe_merge *merges, size_t slots, uint64_t pair)
{
    size_t at = oc_bpe_merge_home(pair, slots);
    while (merges[at].pair != pair && merges[at].pair != UINT64_MAX) {
        at = (at + 1) & (slots - 1);
    }
    return at;
}

/* The merge of two ids; NULL if there is none. */
static inline const oc_bpe_merge *oc_bpe_find_merge(const oc_bpe *bpe, int32_t left, int32_t right)
{
    const oc_bpe_merge *merge =
        &bpe->merges[oc_bpe_merge_slot(bpe->merges, bpe->merge_slots, oc_bpe_pair(left, right))];
    return merge->pair != UINT64_MAX ? merge : NULL;
}

/* Filling: begin, every word of the vocabulary, then merges and added tokens, then finish. */
typedef struct oc_bpe_builder {
    const char *file; /* for messages */
    size_t id_limit;
    oc_hash source; /* set by the caller before finish */
    /* As in oc_bpe, still growing. */
    size_t size, capacity; /* ids that begin, length and special have room for */
    oc_buffer bytes;
    uint32_t *begin, *length;
    uint8_t *special;
    int32_t byte_id[256];
    oc_bpe_merge *merges;
    size_t merge_slots;
    uint32_t merge_count;
    int32_t *added;
    size_t added_count, added_room;
    /* Spelling to id. Spellings are borrowed: from a text that outlives this. Merges ask for most
     * words in the order of the file, so they are kept apart from the hash table, in that order. */
    struct oc_bpe_word {
        const char *spelling; /* [length] */
        uint32_t length;
        int32_t id;
    } * words; /* [word_room] */
    size_t word_count, word_room;
    struct oc_bpe_word_slot {
        uint32_t tag;   /* of the spelling's hash */
        uint32_t index; /* of the word, plus one; 0: free */
    } * slots;          /* [word_slots], open addressing; a power of two, never full */
    size_t word_slots;
    oc_buffer joined; /* the two parts of a merge */
} oc_bpe_builder;

/* words, merges, added: how many will come at most; the merge table's size follows from theirs. */
ocelli_status oc_bpe_builder_open(oc_bpe_builder *builder, const char *file, size_t id_limit,
                                  size_t words, size_t merges, size_t added, ocelli_error *err);
void oc_bpe_builder_close(oc_bpe_builder *builder);
/* One entry "spelling": id of the vocabulary, spelled in the byte alphabet of GPT-2. spelling
 * [length] is borrowed and NUL-ended. id: as the file has it; anything but a whole number is
 * refused (NAN: no number at all). */
ocelli_status oc_bpe_builder_word(oc_bpe_builder *builder, const char *spelling, size_t length,
                                  double id, ocelli_error *err);
/* The next merge, two spellings by pointer and length. */
ocelli_status oc_bpe_builder_merge(oc_bpe_builder *builder, const char *left, size_t left_length,
                                   const char *right, size_t right_length, ocelli_error *err);
/* "left right" with exactly one blank. */
ocelli_status oc_bpe_builder_merge_line(oc_bpe_builder *builder, const char *line, size_t length,
                                        ocelli_error *err);
ocelli_status oc_bpe_builder_added(oc_bpe_builder *builder, int64_t id, const char *content,
                                   bool special, ocelli_error *err);
/* Makes the tokenizer; the builder stays the caller's to close. */
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
