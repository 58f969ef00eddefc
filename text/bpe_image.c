/* bpe_image.c - see bpe_image.h. */
#include "text/bpe_image.h"

#include "runtime/base/memory.h"
#include "text/unicode.h"

#include <string.h>

static const char magic[8] = "oc-bpe";
static const uint32_t byte_order = 0x01020304;

_Static_assert(sizeof(oc_bpe_image_header) == 64, "the header is written as it stands in memory");
_Static_assert(sizeof(oc_bpe_merge) == 16, "and so are merges");

/* Offsets of the arrays from the start of the image. */
typedef struct layout {
    size_t merges;  /* oc_bpe_merge [merge_slots] */
    size_t begin;   /* uint32 [size] */
    size_t length;  /* uint32 [size] */
    size_t byte_id; /* int32 [256] */
    size_t added;   /* int32 [added_count] */
    size_t special; /* uint8 [size] */
    size_t bytes;   /* char [bytes_size] */
    size_t end;     /* of the image */
} layout;

/* Sets *out to the next place for an array and moves *at behind it; false: sizes overflow. */
static bool place(size_t *at, size_t count, size_t width, size_t *out)
{
    size_t bytes;
    *out = *at;
    if (!oc_size_mul(count, width, &bytes) ||
        !oc_size_add(bytes, OC_BPE_IMAGE_ALIGNMENT - 1, &bytes)) {
        return false;
    }
    return oc_size_add(*at, bytes & ~(size_t)(OC_BPE_IMAGE_ALIGNMENT - 1), at);
}

static bool lay_out(layout *out, size_t size, size_t merge_slots, size_t added_count,
                    size_t bytes_size)
{
    size_t at = sizeof(oc_bpe_image_header);
    bool fits = place(&at, merge_slots, sizeof(oc_bpe_merge), &out->merges) &&
                place(&at, size, sizeof(uint32_t), &out->begin) &&
                place(&at, size, sizeof(uint32_t), &out->length) &&
                place(&at, 256, sizeof(int32_t), &out->byte_id) &&
                place(&at, added_count, sizeof(int32_t), &out->added) &&
                place(&at, size, 1, &out->special) && place(&at, bytes_size, 1, &out->bytes);
    out->end = at;
    return fits;
}

/* Points the tables into the image; its counts are known to fit. */
static void attach(oc_bpe *bpe, const void *image, const layout *where)
{
    const unsigned char *base = image;
    oc_bpe_image_header header;
    memcpy(&header, base, sizeof header);
    bpe->size = header.size;
    bpe->bytes = (const char *)(base + where->bytes);
    bpe->bytes_size = (size_t)header.bytes_size;
    bpe->begin = (const uint32_t *)(const void *)(base + where->begin);
    bpe->length = (const uint32_t *)(const void *)(base + where->length);
    bpe->special = base + where->special;
    bpe->byte_id = (const int32_t *)(const void *)(base + where->byte_id);
    bpe->merges = (const oc_bpe_merge *)(const void *)(base + where->merges);
    bpe->merge_slots = (size_t)header.merge_slots;
    bpe->added = (const int32_t *)(const void *)(base + where->added);
    bpe->added_count = header.added_count;
    bpe->source = (oc_hash){.high = header.source_high, .low = header.source_low};
    bpe->image = image;
    bpe->image_size = where->end;
}

/* The first bytes of added tokens; their ids are known to be in range. */
static void index_added(oc_bpe *bpe)
{
    memset(bpe->added_first, 0, sizeof bpe->added_first);
    for (size_t i = 0; i < bpe->added_count; i++) {
        bpe->added_first[(unsigned char)bpe->bytes[bpe->begin[bpe->added[i]]] + 1]++;
    }
    for (size_t i = 1; i < 257; i++) {
        bpe->added_first[i] += bpe->added_first[i - 1];
    }
}

/* ---- building ------------------------------------------------------------------------------ */

ocelli_status oc_bpe_image_build(oc_bpe **out, const oc_bpe *tables, const char *file,
                                 ocelli_error *err)
{
    layout where;
    const oc_bpe_image_header header = {.magic = "oc-bpe",
                                        .byte_order = byte_order,
                                        .version = OC_BPE_IMAGE_VERSION,
                                        .source_high = tables->source.high,
                                        .source_low = tables->source.low,
                                        .bytes_size = tables->bytes_size,
                                        .merge_slots = tables->merge_slots,
                                        .size = (uint32_t)tables->size,
                                        .added_count = (uint32_t)tables->added_count};
    *out = NULL;
    oc_bpe *bpe = oc_alloc(1, sizeof *bpe);
    unsigned char *block = NULL;
    if (bpe != NULL && lay_out(&where, tables->size, tables->merge_slots, tables->added_count,
                               tables->bytes_size)) {
        block = oc_alloc(where.end, 1);
    }
    if (block == NULL) {
        oc_free(bpe);
        return oc_fail_memory(err, file);
    }
    memcpy(block, &header, sizeof header);
    memcpy(block + where.merges, tables->merges, tables->merge_slots * sizeof *tables->merges);
    memcpy(block + where.begin, tables->begin, tables->size * sizeof *tables->begin);
    memcpy(block + where.length, tables->length, tables->size * sizeof *tables->length);
    memcpy(block + where.byte_id, tables->byte_id, 256 * sizeof *tables->byte_id);
    memcpy(block + where.added, tables->added, tables->added_count * sizeof *tables->added);
    memcpy(block + where.special, tables->special, tables->size);
    memcpy(block + where.bytes, tables->bytes, tables->bytes_size);
    bpe->block = block;
    attach(bpe, block, &where);
    index_added(bpe);
    *out = bpe;
    return OCELLI_OK;
}

int oc_bpe_compare_bytes(const char *left, size_t left_length, const char *right,
                         size_t right_length)
{
    int order = memcmp(left, right, left_length < right_length ? left_length : right_length);
    if (order == 0 && left_length != right_length) {
        order = left_length < right_length ? -1 : 1;
    }
    return order;
}

/* ---- opening ------------------------------------------------------------------------------- */

static ocelli_status damaged(const char *name, const char *what, ocelli_error *err)
{
    return oc_fail(err, OCELLI_E_FORMAT, "%s: %s; the file is damaged: pack the model again", name,
                   what);
}

static ocelli_status check_header(const char *name, const void *bytes, size_t size, size_t id_limit,
                                  layout *where, ocelli_error *err)
{
    oc_bpe_image_header header;
    if (size < sizeof header || memcmp(bytes, magic, sizeof magic) != 0) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: is not a compiled tokenizer; pack the model again", name);
    }
    memcpy(&header, bytes, sizeof header);
    if (header.byte_order != byte_order) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: its numbers are not in this machine's byte order; pack the model again "
                       "on this machine",
                       name);
    }
    if (header.version != OC_BPE_IMAGE_VERSION) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED,
                       "%s: compiled tokenizer of version %u, this library reads version %d; pack "
                       "the model again",
                       name, (unsigned)header.version, OC_BPE_IMAGE_VERSION);
    }
    if (header.size == 0 || header.size > id_limit || header.size > OC_BPE_ID_LIMIT) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: has %u ids, but the model has %zu", name,
                       (unsigned)header.size, id_limit);
    }
    if (header.merge_slots < 16 || (header.merge_slots & (header.merge_slots - 1)) != 0 ||
        header.added_count > header.size || header.reserved != 0 ||
        (size_t)header.merge_slots != header.merge_slots || header.bytes_size > UINT32_MAX ||
        !lay_out(where, header.size, (size_t)header.merge_slots, header.added_count,
                 (size_t)header.bytes_size)) {
        return damaged(name, "its header has impossible counts", err);
    }
    if (where->end != size) {
        return oc_fail(err, OCELLI_E_FORMAT,
                       "%s: %zu bytes, but its tables need %zu; the file is cut or damaged: pack "
                       "the model again",
                       name, size, where->end);
    }
    return OCELLI_OK;
}

/* An id that has bytes. */
static bool is_token(const oc_bpe *bpe, int64_t id)
{
    return id >= 0 && (uint64_t)id < bpe->size && bpe->length[id] > 0;
}

static ocelli_status check_tokens(const oc_bpe *bpe, const char *name, ocelli_error *err)
{
    bool inside = true;
    for (size_t id = 0; id < bpe->size; id++) {
        inside &= (uint64_t)bpe->begin[id] + bpe->length[id] <= bpe->bytes_size;
    }
    if (!inside) {
        return damaged(name, "a token lies outside the bytes", err);
    }
    for (size_t i = 0; i < 256; i++) {
        if (!is_token(bpe, bpe->byte_id[i])) {
            return damaged(name, "a byte has no token", err);
        }
    }
    return OCELLI_OK;
}

/* Encoding relies on these: ids in range, strictly in order, whole characters, not too long. */
static ocelli_status check_added(const oc_bpe *bpe, const char *name, ocelli_error *err)
{
    size_t marked = 0, special = 0;
    for (size_t i = 0; i < bpe->added_count; i++) {
        int32_t id = bpe->added[i];
        if (!is_token(bpe, id) || bpe->length[id] > OC_BPE_ADDED_LIMIT) {
            return damaged(name, "an added token has no text or too much", err);
        }
        const char *text = bpe->bytes + bpe->begin[id];
        size_t length = bpe->length[id];
        if (oc_utf8_valid_prefix(text, length) != length) {
            return damaged(name, "an added token is not UTF-8", err);
        }
        if (i > 0) {
            int32_t before = bpe->added[i - 1];
            if (oc_bpe_compare_bytes(bpe->bytes + bpe->begin[before], bpe->length[before], text,
                                     length) >= 0) {
                return damaged(name, "its added tokens are not in order", err);
            }
        }
        special += bpe->special[id] == 1;
    }
    for (size_t id = 0; id < bpe->size; id++) {
        marked += bpe->special[id] != 0;
    }
    /* Those that are marked are among the added ones, and marked by a 1. */
    return marked == special ? OCELLI_OK
                             : damaged(name, "a token is special without being added", err);
}

/* The hash table: every merge where a search for it comes by, and free slots to end the others. */
static ocelli_status check_merges(const oc_bpe *bpe, const char *name, ocelli_error *err)
{
    const oc_bpe_merge *merges = bpe->merges;
    size_t slots = bpe->merge_slots, used = 0;
    for (size_t i = 0; i < slots; i++) {
        used += merges[i].pair != UINT64_MAX;
    }
    if (used > slots - slots / 3) {
        return damaged(name, "its table of merges is too full", err);
    }
    size_t start = 0; /* a free slot: searches do not cross it */
    while (merges[start].pair != UINT64_MAX) {
        start++;
    }
    size_t reach = 0; /* slots in use right before this one */
    for (size_t i = 1; i < slots; i++) {
        size_t at = (start + i) & (slots - 1);
        const oc_bpe_merge *merge = &merges[at];
        if (merge->pair == UINT64_MAX) {
            reach = 0;
            continue;
        }
        if ((merge->pair >> 32) >= bpe->size || (uint32_t)merge->pair >= bpe->size ||
            !is_token(bpe, merge->id)) {
            return damaged(name, "a merge has an id that no token has", err);
        }
        if (((at - oc_bpe_merge_home(merge->pair, slots)) & (slots - 1)) > reach) {
            return damaged(name, "a merge is where nothing would find it", err);
        }
        reach++;
    }
    return OCELLI_OK;
}

ocelli_status oc_bpe_image_use(oc_bpe **out, const char *name, const void *bytes, size_t size,
                               size_t id_limit, ocelli_error *err)
{
    layout where;
    *out = NULL;
    OC_TRY(check_header(name, bytes, size, id_limit, &where, err));
    oc_bpe *bpe = oc_alloc(1, sizeof *bpe);
    if (bpe == NULL) {
        return oc_fail_memory(err, name);
    }
    attach(bpe, bytes, &where);
    ocelli_status status = check_tokens(bpe, name, err);
    if (status == OCELLI_OK) {
        status = check_added(bpe, name, err);
    }
    if (status == OCELLI_OK) {
        status = check_merges(bpe, name, err);
    }
    if (status != OCELLI_OK) {
        oc_free(bpe);
        return status;
    }
    index_added(bpe);
    *out = bpe;
    return OCELLI_OK;
}

ocelli_status oc_bpe_open_image(oc_bpe **out, const char *path, size_t id_limit, ocelli_error *err)
{
    oc_map map;
    *out = NULL;
    OC_TRY(oc_map_open(&map, path, NULL, err));
    ocelli_status status = oc_bpe_image_use(out, path, map.bytes, map.size, id_limit, err);
    if (status != OCELLI_OK) {
        oc_map_close(&map);
        return status;
    }
    (*out)->map = map;
    return OCELLI_OK;
}

const void *oc_bpe_image(const oc_bpe *bpe, size_t *size)
{
    *size = bpe->image_size;
    return bpe->image;
}

oc_hash oc_bpe_source(const oc_bpe *bpe)
{
    return bpe->source;
}
