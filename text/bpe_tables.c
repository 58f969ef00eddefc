/* bpe_tables.c - see bpe_tables.h: spellings to bytes, the merge table, the added tokens.
 *
 * What encoding needs is small: 256 ids of single bytes, and a table from a pair of ids to the id
 * of their merge. The spellings are needed only while merges are read, so their table is dropped. */
#include "text/bpe_tables.h"

#include "runtime/base/hash.h"
#include "runtime/base/memory.h"
#include "text/bpe_image.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Slots for count entries, at most two thirds full; 0: too many. */
static size_t slots_for(size_t count)
{
    size_t slots = 16;
    while (slots - slots / 3 < count) {
        if (slots > SIZE_MAX / 4) {
            return 0;
        }
        slots *= 2;
    }
    return slots;
}

/* The alphabet of GPT-2: printable Latin-1 stands for itself, the other 68 bytes, in order, for
 * U+0100 and up. Returns the byte, -1 for a character outside the alphabet. */
static int byte_of(uint32_t code)
{
    if ((code >= 0x21 && code <= 0x7e) || (code >= 0xa1 && code <= 0xac) ||
        (code >= 0xae && code <= 0xff)) {
        return (int)code;
    }
    if (code >= 0x100 && code <= 0x120) {
        return (int)(code - 0x100); /* 00 .. 20 */
    }
    if (code >= 0x121 && code <= 0x142) {
        return (int)(code - 0x121 + 0x7f); /* 7F .. A0 */
    }
    return code == 0x143 ? 0xad : -1;
}

ocelli_status oc_bpe_builder_open(oc_bpe_builder *builder, const char *file, size_t id_limit,
                                  size_t words, size_t merges, size_t added, ocelli_error *err)
{
    size_t word_slots = slots_for(words);
    size_t merge_slots = slots_for(merges);
    *builder = (oc_bpe_builder){.file = file,
                                .id_limit = id_limit < OC_BPE_ID_LIMIT ? id_limit : OC_BPE_ID_LIMIT,
                                .word_room = words,
                                .word_slots = word_slots,
                                .merge_slots = merge_slots,
                                .added_room = added};
    if (word_slots == 0 || merge_slots == 0) {
        return oc_fail_memory(err, file);
    }
    builder->merges = oc_alloc(merge_slots, sizeof *builder->merges);
    builder->added = oc_alloc(added, sizeof *builder->added);
    builder->words = oc_alloc(words, sizeof *builder->words);
    builder->slots = oc_alloc(word_slots, sizeof *builder->slots);
    if (builder->merges == NULL || builder->added == NULL || builder->words == NULL ||
        builder->slots == NULL) {
        oc_bpe_builder_close(builder);
        return oc_fail_memory(err, file);
    }
    for (size_t i = 0; i < merge_slots; i++) {
        builder->merges[i].pair = UINT64_MAX;
    }
    for (size_t i = 0; i < 256; i++) {
        builder->byte_id[i] = -1;
    }
    return OCELLI_OK;
}

void oc_bpe_builder_close(oc_bpe_builder *builder)
{
    oc_buffer_close(&builder->bytes);
    oc_free(builder->begin);
    oc_free(builder->length);
    oc_free(builder->special);
    oc_free(builder->merges);
    oc_free(builder->added);
    oc_free(builder->words);
    oc_free(builder->slots);
    oc_buffer_close(&builder->joined);
    *builder = (oc_bpe_builder){0};
}

/* ---- words ---------------------------------------------------------------------------------- */

/* The slot of a spelling, or the free one where it belongs. */
static struct oc_bpe_word_slot *find_slot(const oc_bpe_builder *builder, const char *spelling,
                                          size_t length, uint32_t *tag)
{
    size_t mask = builder->word_slots - 1;
    oc_hash hash = oc_hash_bytes(spelling, length);
    struct oc_bpe_word_slot *slots = builder->slots;
    *tag = (uint32_t)hash.high;
    for (size_t at = (size_t)hash.low & mask;; at = (at + 1) & mask) {
        if (slots[at].index == 0) {
            return &slots[at];
        }
        if (slots[at].tag == *tag) {
            const struct oc_bpe_word *word = &builder->words[slots[at].index - 1];
            if (word->length == length && memcmp(word->spelling, spelling, length) == 0) {
                return &slots[at];
            }
        }
    }
}

/* NULL: the vocabulary has no such word. */
static const struct oc_bpe_word *find_word(const oc_bpe_builder *builder, const char *spelling,
                                           size_t length)
{
    uint32_t tag;
    const struct oc_bpe_word_slot *slot = find_slot(builder, spelling, length, &tag);
    return slot->index != 0 ? &builder->words[slot->index - 1] : NULL;
}

static ocelli_status reserve_id(oc_bpe_builder *builder, size_t id, ocelli_error *err)
{
    if (id >= builder->capacity) {
        size_t old = builder->capacity;
        /* At first as many as there are tokens: most ids are dense. */
        size_t capacity = old;
        if (old == 0) {
            capacity = builder->word_room + builder->added_room;
            capacity = capacity < builder->id_limit ? capacity + 1 : builder->id_limit + 1;
        }
        while (capacity <= id) {
            capacity *= 2; /* id < OC_BPE_ID_LIMIT: does not wrap */
        }
        uint32_t *begin = oc_grow(builder->begin, old, capacity, sizeof *begin);
        builder->begin = begin != NULL ? begin : builder->begin;
        uint32_t *length = oc_grow(builder->length, old, capacity, sizeof *length);
        builder->length = length != NULL ? length : builder->length;
        uint8_t *special = oc_grow(builder->special, old, capacity, sizeof *special);
        builder->special = special != NULL ? special : builder->special;
        if (begin == NULL || length == NULL || special == NULL) {
            return oc_fail_memory(err, builder->file);
        }
        builder->capacity = capacity;
    }
    if (id >= builder->size) {
        builder->size = id + 1;
    }
    return OCELLI_OK;
}

static ocelli_status set_bytes(oc_bpe_builder *builder, size_t id, const char *bytes, size_t length,
                               ocelli_error *err)
{
    if (length > UINT32_MAX || builder->bytes.length > UINT32_MAX - length) {
        return oc_fail(err, OCELLI_E_LIMIT, "%s: tokens of more than 4 GiB", builder->file);
    }
    builder->begin[id] = (uint32_t)builder->bytes.length;
    builder->length[id] = (uint32_t)length;
    return oc_buffer_append(&builder->bytes, bytes, length, err);
}

/* Writes the bytes that a spelling stands for over it in the arena: they are never longer. Returns
 * their number; 0: it has a character outside the alphabet, so no text can ever give it. */
static size_t spell_out(char *text, size_t length)
{
    for (size_t at = 0, step; at < length; at += step) {
        if (byte_of(oc_utf8_decode(text + at, &step)) < 0) {
            return 0;
        }
    }
    size_t count = 0;
    for (size_t at = 0, step; at < length; at += step) {
        text[count++] = (char)byte_of(oc_utf8_decode(text + at, &step));
    }
    return count;
}

ocelli_status oc_bpe_builder_word(oc_bpe_builder *builder, const char *spelling, size_t length,
                                  double number, ocelli_error *err)
{
    if (length == 0 || length > UINT32_MAX || oc_utf8_valid_prefix(spelling, length) != length) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: the vocabulary has an entry that is %s",
                       builder->file, length == 0 ? "empty" : "not UTF-8");
    }
    if (!(number >= 0) || number != floor(number)) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: the id of vocabulary entry \"%.60s\" is not a whole number",
                       builder->file, spelling);
    }
    if (number >= (double)builder->id_limit) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: vocabulary entry \"%.60s\" has id %.0f, but the model has %zu ids",
                       builder->file, spelling, number, builder->id_limit);
    }
    size_t id = (size_t)number;
    OC_TRY(reserve_id(builder, id, err));
    uint32_t tag;
    struct oc_bpe_word_slot *slot = find_slot(builder, spelling, length, &tag);
    if (slot->index != 0 || builder->length[id] != 0) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: %s (\"%.60s\", id %zu)", builder->file,
                       slot->index != 0 ? "the vocabulary has an entry twice"
                                        : "two vocabulary entries have the same id",
                       spelling, id);
    }
    if (builder->word_count == builder->word_room) {
        return oc_fail(err, OCELLI_E_INTERNAL, "%s: more words than counted", builder->file);
    }
    builder->words[builder->word_count++] =
        (struct oc_bpe_word){.spelling = spelling, .length = (uint32_t)length, .id = (int32_t)id};
    *slot = (struct oc_bpe_word_slot){.tag = tag, .index = (uint32_t)builder->word_count};
    OC_TRY(set_bytes(builder, id, spelling, length, err));
    char *text = builder->bytes.data + builder->begin[id];
    size_t count = spell_out(text, length);
    if (count > 0) {
        builder->length[id] = (uint32_t)count;
        builder->bytes.length -= length - count;
        builder->bytes.data[builder->bytes.length] = '\0';
        if (count == 1) {
            builder->byte_id[(unsigned char)text[0]] = (int32_t)id;
        }
    }
    return OCELLI_OK;
}

/* ---- merges --------------------------------------------------------------------------------- */

ocelli_status oc_bpe_builder_merge(oc_bpe_builder *builder, const char *left, size_t left_length,
                                   const char *right, size_t right_length, ocelli_error *err)
{
    const struct oc_bpe_word *first = find_word(builder, left, left_length);
    const struct oc_bpe_word *second = find_word(builder, right, right_length);
    oc_buffer *joined = &builder->joined;
    oc_buffer_clear(joined);
    OC_TRY(oc_buffer_append(joined, left, left_length, err));
    OC_TRY(oc_buffer_append(joined, right, right_length, err));
    const struct oc_bpe_word *both = find_word(builder, joined->data, joined->length);
    if (first == NULL || second == NULL || both == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: merge %u gives \"%.60s\", but the vocabulary lacks it or a part of it",
                       builder->file, (unsigned)builder->merge_count, joined->data);
    }
    uint64_t pair = oc_bpe_pair(first->id, second->id);
    /* A pair that comes twice keeps its last rank, as in the reference. */
    builder->merges[oc_bpe_merge_slot(builder->merges, builder->merge_slots, pair)] =
        (oc_bpe_merge){.pair = pair, .rank = builder->merge_count, .id = both->id};
    builder->merge_count++;
    return OCELLI_OK;
}

ocelli_status oc_bpe_builder_merge_line(oc_bpe_builder *builder, const char *line, size_t length,
                                        ocelli_error *err)
{
    const char *blank = length > 0 ? memchr(line, ' ', length) : NULL;
    size_t left = blank != NULL ? (size_t)(blank - line) : 0;
    if (left == 0 || left + 1 == length || memchr(blank + 1, ' ', length - left - 1) != NULL) {
        return oc_fail(
            err, OCELLI_E_FORMAT, "%s: merge %u, \"%.*s\", is not two tokens with a blank between",
            builder->file, (unsigned)builder->merge_count, (int)(length < 60 ? length : 60), line);
    }
    return oc_bpe_builder_merge(builder, line, left, blank + 1, length - left - 1, err);
}

/* ---- added tokens --------------------------------------------------------------------------- */

ocelli_status oc_bpe_builder_added(oc_bpe_builder *builder, int64_t id, const char *content,
                                   bool special, ocelli_error *err)
{
    size_t length = strlen(content);
    if (length == 0 || length > OC_BPE_ADDED_LIMIT ||
        oc_utf8_valid_prefix(content, length) != length) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: the content of added token %lld is %s",
                       builder->file, (long long)id,
                       length == 0                   ? "empty"
                       : length > OC_BPE_ADDED_LIMIT ? "longer than 1024 bytes"
                                                     : "not UTF-8");
    }
    if (id < 0 || (uint64_t)id >= builder->id_limit) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: added token \"%.60s\" has id %lld, but the model has %zu ids",
                       builder->file, content, (long long)id, builder->id_limit);
    }
    OC_TRY(reserve_id(builder, (size_t)id, err));
    /* A spelling has one id, and an id one spelling: the vocabulary may hold an added token too. */
    const struct oc_bpe_word *word = find_word(builder, content, length);
    if (word != NULL ? word->id != id : builder->length[id] != 0) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: added token \"%.60s\" has id %lld, but %s",
                       builder->file, content, (long long)id,
                       word != NULL ? "the vocabulary gives it another"
                                    : "another token has that id");
    }
    if (builder->added_count == builder->added_room) {
        return oc_fail(err, OCELLI_E_INTERNAL, "%s: more added tokens than counted", builder->file);
    }
    OC_TRY(set_bytes(builder, (size_t)id, content, length, err));
    builder->special[id] = special ? 1 : 0;
    builder->added[builder->added_count++] = (int32_t)id;
    return OCELLI_OK;
}

/* An added token while they are sorted. */
typedef struct added_text {
    const char *text; /* [length] */
    size_t length;
    int32_t id;
} added_text;

static int compare_added(const void *left, const void *right)
{
    const added_text *a = left;
    const added_text *b = right;
    return oc_bpe_compare_bytes(a->text, a->length, b->text, b->length);
}

static ocelli_status sort_added(oc_bpe_builder *builder, ocelli_error *err)
{
    size_t count = builder->added_count;
    added_text *sorted = oc_alloc(count, sizeof *sorted);
    if (sorted == NULL) {
        return oc_fail_memory(err, builder->file);
    }
    for (size_t i = 0; i < count; i++) {
        int32_t id = builder->added[i];
        sorted[i] = (added_text){.text = builder->bytes.data + builder->begin[id],
                                 .length = builder->length[id],
                                 .id = id};
    }
    if (count > 1) {
        qsort(sorted, count, sizeof *sorted, compare_added);
    }
    ocelli_status status = OCELLI_OK;
    for (size_t i = 0; i < count && status == OCELLI_OK; i++) {
        builder->added[i] = sorted[i].id;
        if (i > 0 && compare_added(&sorted[i - 1], &sorted[i]) == 0) {
            status = oc_fail(err, OCELLI_E_FORMAT, "%s: added token \"%.*s\" is there twice",
                             builder->file, (int)(sorted[i].length < 60 ? sorted[i].length : 60),
                             sorted[i].text);
        }
    }
    oc_free(sorted);
    return status;
}

ocelli_status oc_bpe_builder_finish(oc_bpe_builder *builder, oc_bpe **out, ocelli_error *err)
{
    for (size_t i = 0; i < 256; i++) {
        if (builder->byte_id[i] < 0) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: the vocabulary has no token for the single byte 0x%02zX",
                           builder->file, i);
        }
    }
    OC_TRY(sort_added(builder, err));
    oc_bpe tables = {.size = builder->size,
                     .bytes = builder->bytes.data,
                     .bytes_size = builder->bytes.length,
                     .begin = builder->begin,
                     .length = builder->length,
                     .special = builder->special,
                     .byte_id = builder->byte_id,
                     .merges = builder->merges,
                     .merge_slots = builder->merge_slots,
                     .added = builder->added,
                     .added_count = builder->added_count,
                     .source = builder->source};
    return oc_bpe_image_build(out, &tables, builder->file, err);
}
