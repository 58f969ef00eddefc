/* bpe_tables.c - see bpe_tables.h: spellings to bytes, the merge table, the added tokens.
 *
 * What encoding needs is small: 256 ids of single bytes, and a table from a pair of ids to the id
 * of their merge. The spellings are needed only while merges are read, so their table is dropped. */
#include "text/bpe_tables.h"

#include "runtime/base/hash.h"
#include "runtime/base/memory.h"
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
                                .word_slots = word_slots,
                                .added_room = added};
    oc_bpe *bpe = oc_alloc(1, sizeof *bpe);
    if (bpe == NULL || word_slots == 0 || merge_slots == 0) {
        oc_free(bpe);
        return oc_fail_memory(err, file);
    }
    builder->bpe = bpe;
    bpe->merge_slots = merge_slots;
    bpe->merges = oc_alloc(merge_slots, sizeof *bpe->merges);
    bpe->added = oc_alloc(added, sizeof *bpe->added);
    builder->words = oc_alloc(word_slots, sizeof *builder->words);
    if (bpe->merges == NULL || bpe->added == NULL || builder->words == NULL) {
        oc_bpe_builder_close(builder);
        return oc_fail_memory(err, file);
    }
    for (size_t i = 0; i < merge_slots; i++) {
        bpe->merges[i].pair = UINT64_MAX;
    }
    for (size_t i = 0; i < 256; i++) {
        bpe->byte_id[i] = -1;
    }
    return OCELLI_OK;
}

void oc_bpe_builder_close(oc_bpe_builder *builder)
{
    oc_bpe_close(builder->bpe);
    oc_free(builder->words);
    oc_buffer_close(&builder->joined);
    *builder = (oc_bpe_builder){0};
}

/* ---- words ---------------------------------------------------------------------------------- */

/* The slot of a spelling, or the free one where it belongs. */
static struct oc_bpe_word *find_word(const oc_bpe_builder *builder, const char *spelling,
                                     size_t length)
{
    size_t mask = builder->word_slots - 1;
    size_t at = (size_t)oc_hash_bytes(spelling, length).low & mask;
    while (builder->words[at].spelling != NULL &&
           (strlen(builder->words[at].spelling) != length ||
            memcmp(builder->words[at].spelling, spelling, length) != 0)) {
        at = (at + 1) & mask;
    }
    return &builder->words[at];
}

static ocelli_status reserve_id(oc_bpe_builder *builder, size_t id, ocelli_error *err)
{
    oc_bpe *bpe = builder->bpe;
    if (id >= builder->capacity) {
        size_t capacity = builder->capacity > 0 ? builder->capacity : 1024;
        while (capacity <= id) {
            capacity *= 2; /* id < OC_BPE_ID_LIMIT: cannot wrap */
        }
        uint32_t *begin = oc_grow(bpe->begin, builder->capacity, capacity, sizeof *begin);
        bpe->begin = begin != NULL ? begin : bpe->begin;
        uint32_t *length = oc_grow(bpe->length, builder->capacity, capacity, sizeof *length);
        bpe->length = length != NULL ? length : bpe->length;
        uint8_t *special = oc_grow(bpe->special, builder->capacity, capacity, sizeof *special);
        bpe->special = special != NULL ? special : bpe->special;
        if (begin == NULL || length == NULL || special == NULL) {
            return oc_fail_memory(err, builder->file);
        }
        builder->capacity = capacity;
    }
    if (id >= bpe->size) {
        bpe->size = id + 1;
    }
    return OCELLI_OK;
}

static ocelli_status set_bytes(oc_bpe_builder *builder, size_t id, const char *bytes, size_t length,
                               ocelli_error *err)
{
    oc_bpe *bpe = builder->bpe;
    if (length > UINT32_MAX || bpe->bytes.length > UINT32_MAX - length) {
        return oc_fail(err, OCELLI_E_LIMIT, "%s: tokens of more than 4 GiB", builder->file);
    }
    bpe->begin[id] = (uint32_t)bpe->bytes.length;
    bpe->length[id] = (uint32_t)length;
    return oc_buffer_append(&bpe->bytes, bytes, length, err);
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

ocelli_status oc_bpe_builder_word(oc_bpe_builder *builder, const cJSON *entry, ocelli_error *err)
{
    oc_bpe *bpe = builder->bpe;
    const char *spelling = entry->string != NULL ? entry->string : "";
    size_t spelling_length = strlen(spelling);
    if (spelling_length == 0 ||
        oc_utf8_valid_prefix(spelling, spelling_length) != spelling_length) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: the vocabulary has an entry that is %s",
                       builder->file, spelling_length == 0 ? "empty" : "not UTF-8");
    }
    if (!cJSON_IsNumber(entry) || !(entry->valuedouble >= 0) ||
        entry->valuedouble != floor(entry->valuedouble)) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: the id of vocabulary entry \"%.60s\" is not a whole number",
                       builder->file, spelling);
    }
    if (entry->valuedouble >= (double)builder->id_limit) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: vocabulary entry \"%.60s\" has id %.0f, but the model has %zu ids",
                       builder->file, spelling, entry->valuedouble, builder->id_limit);
    }
    size_t id = (size_t)entry->valuedouble;
    OC_TRY(reserve_id(builder, id, err));
    struct oc_bpe_word *slot = find_word(builder, spelling, spelling_length);
    if (slot->spelling != NULL || bpe->length[id] != 0) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: %s (\"%.60s\", id %zu)", builder->file,
                       slot->spelling != NULL ? "the vocabulary has an entry twice"
                                              : "two vocabulary entries have the same id",
                       spelling, id);
    }
    *slot = (struct oc_bpe_word){.spelling = spelling, .id = (int32_t)id};
    OC_TRY(set_bytes(builder, id, spelling, spelling_length, err));
    char *text = bpe->bytes.data + bpe->begin[id];
    size_t count = spell_out(text, spelling_length);
    if (count > 0) {
        bpe->length[id] = (uint32_t)count;
        bpe->bytes.length -= spelling_length - count;
        bpe->bytes.data[bpe->bytes.length] = '\0';
        if (count == 1) {
            bpe->byte_id[(unsigned char)text[0]] = (int32_t)id;
        }
    }
    return OCELLI_OK;
}

/* ---- merges --------------------------------------------------------------------------------- */

static uint64_t pair_of(int32_t left, int32_t right)
{
    return (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
}

/* Ids are small and dense; this spreads them over all bits (the finaliser of splitmix64). */
static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static size_t merge_slot(const oc_bpe *bpe, uint64_t pair)
{
    size_t mask = bpe->merge_slots - 1;
    size_t at = (size_t)mix(pair) & mask;
    while (bpe->merges[at].pair != pair && bpe->merges[at].pair != UINT64_MAX) {
        at = (at + 1) & mask;
    }
    return at;
}

const oc_bpe_merge *oc_bpe_find_merge(const oc_bpe *bpe, int32_t left, int32_t right)
{
    const oc_bpe_merge *merge = &bpe->merges[merge_slot(bpe, pair_of(left, right))];
    return merge->pair != UINT64_MAX ? merge : NULL;
}

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
    if (first->spelling == NULL || second->spelling == NULL || both->spelling == NULL) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: merge %u gives \"%.60s\", but the vocabulary lacks it or a part of it",
                       builder->file, (unsigned)builder->merge_count, joined->data);
    }
    uint64_t pair = pair_of(first->id, second->id);
    /* A pair that comes twice keeps its last rank, as in the reference. */
    builder->bpe->merges[merge_slot(builder->bpe, pair)] =
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
    oc_bpe *bpe = builder->bpe;
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
    if (word->spelling != NULL ? word->id != id : bpe->length[id] != 0) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: added token \"%.60s\" has id %lld, but %s",
                       builder->file, content, (long long)id,
                       word->spelling != NULL ? "the vocabulary gives it another"
                                              : "another token has that id");
    }
    if (bpe->added_count == builder->added_room) {
        return oc_fail(err, OCELLI_E_INTERNAL, "%s: more added tokens than counted", builder->file);
    }
    OC_TRY(set_bytes(builder, (size_t)id, content, length, err));
    bpe->special[id] = special ? 1 : 0;
    bpe->added[bpe->added_count++] = (oc_bpe_added){.length = length, .id = (int32_t)id};
    return OCELLI_OK;
}

static int compare_added(const void *left, const void *right)
{
    const oc_bpe_added *a = left;
    const oc_bpe_added *b = right;
    int order = memcmp(a->text, b->text, a->length < b->length ? a->length : b->length);
    if (order == 0 && a->length != b->length) {
        order = a->length < b->length ? -1 : 1;
    }
    return order;
}

static ocelli_status sort_added(oc_bpe_builder *builder, ocelli_error *err)
{
    oc_bpe *bpe = builder->bpe;
    for (size_t i = 0; i < bpe->added_count; i++) { /* the arena does not move any more */
        bpe->added[i].text = bpe->bytes.data + bpe->begin[bpe->added[i].id];
    }
    if (bpe->added_count > 1) {
        qsort(bpe->added, bpe->added_count, sizeof *bpe->added, compare_added);
    }
    for (size_t i = 0; i < bpe->added_count; i++) {
        if (i > 0 && compare_added(&bpe->added[i - 1], &bpe->added[i]) == 0) {
            return oc_fail(
                err, OCELLI_E_FORMAT, "%s: added token \"%.*s\" is there twice", builder->file,
                (int)(bpe->added[i].length < 60 ? bpe->added[i].length : 60), bpe->added[i].text);
        }
        bpe->added_first[(unsigned char)bpe->added[i].text[0] + 1]++;
    }
    for (size_t i = 1; i < 257; i++) {
        bpe->added_first[i] += bpe->added_first[i - 1];
    }
    return OCELLI_OK;
}

ocelli_status oc_bpe_builder_finish(oc_bpe_builder *builder, oc_bpe **out, ocelli_error *err)
{
    oc_bpe *bpe = builder->bpe;
    for (size_t i = 0; i < 256; i++) {
        if (bpe->byte_id[i] < 0) {
            return oc_fail(err, OCELLI_E_FORMAT,
                           "%s: the vocabulary has no token for the single byte 0x%02zX",
                           builder->file, i);
        }
    }
    OC_TRY(sort_added(builder, err));
    builder->bpe = NULL;
    oc_bpe_builder_close(builder);
    *out = bpe;
    return OCELLI_OK;
}
