/* bpe_encode.c - text to ids: added tokens, NFC, the pre-tokeniser, merges. See bpe.h.
 *
 * A piece is merged with a queue of candidate pairs, so a piece of n bytes costs O(n log n): a
 * megabyte without a blank must not take minutes. Candidates that went stale stay in the queue and
 * are recognised when they come up. */
#include "text/bpe.h"

#include "runtime/base/memory.h"
#include "text/bpe_tables.h"
#include "text/split.h"
#include "text/unicode.h"

#include <string.h>

/* A symbol of the piece, in a list linked by position. */
typedef struct symbol {
    int32_t id;         /* -1: merged into the one before */
    int32_t prev, next; /* -1: none */
} symbol;

typedef struct encoder {
    const oc_bpe *bpe;
    oc_buffer raw;    /* text since the last added token */
    oc_buffer normal; /* its NFC */
    symbol *symbols;  /* [capacity] */
    /* [2 * capacity] a binary heap, least first, of rank << 32 | position of the left symbol. n - 1
     * candidates at first; each merge takes one and adds at most two. */
    uint64_t *queue;
    size_t queued, capacity;
    oc_ids *out;
} encoder;

static ocelli_status reserve(encoder *work, size_t count, ocelli_error *err)
{
    if (count <= work->capacity) {
        return OCELLI_OK;
    }
    if (count > INT32_MAX / 2) {
        return oc_fail(err, OCELLI_E_LIMIT, "a word of %zu bytes is too long to tokenise", count);
    }
    size_t capacity = count < 128 ? 256 : count * 2;
    oc_free(work->symbols);
    oc_free(work->queue);
    work->capacity = 0;
    work->symbols = oc_alloc(capacity, sizeof *work->symbols);
    work->queue = oc_alloc(capacity, 2 * sizeof *work->queue);
    if (work->symbols == NULL || work->queue == NULL) {
        return oc_fail_memory(err, "tokenising");
    }
    work->capacity = capacity;
    return OCELLI_OK;
}

static void queue_push(encoder *work, uint64_t key)
{
    size_t at = work->queued++;
    while (at > 0 && work->queue[(at - 1) / 2] > key) {
        work->queue[at] = work->queue[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    work->queue[at] = key;
}

static uint64_t queue_pop(encoder *work)
{
    uint64_t least = work->queue[0];
    uint64_t key = work->queue[--work->queued];
    size_t at = 0;
    for (size_t child = 1; child < work->queued; child = 2 * at + 1) {
        if (child + 1 < work->queued && work->queue[child + 1] < work->queue[child]) {
            child++;
        }
        if (work->queue[child] >= key) {
            break;
        }
        work->queue[at] = work->queue[child];
        at = child;
    }
    work->queue[at] = key;
    return least;
}

/* Queues the pair that begins at a position, if it merges. */
static void queue_pair(encoder *work, int32_t at)
{
    if (at < 0 || work->symbols[at].next < 0) {
        return;
    }
    const oc_bpe_merge *merge = oc_bpe_find_merge(work->bpe, work->symbols[at].id,
                                                  work->symbols[work->symbols[at].next].id);
    if (merge != NULL) {
        queue_push(work, (uint64_t)merge->rank << 32 | (uint32_t)at);
    }
}

static void merge_symbols(encoder *work)
{
    symbol *symbols = work->symbols;
    while (work->queued > 0) {
        uint64_t key = queue_pop(work);
        int32_t at = (int32_t)(key & UINT32_MAX);
        int32_t next = symbols[at].next;
        if (symbols[at].id < 0 || next < 0) {
            continue;
        }
        const oc_bpe_merge *merge = oc_bpe_find_merge(work->bpe, symbols[at].id, symbols[next].id);
        if (merge == NULL || merge->rank != key >> 32) {
            continue;
        }
        symbols[at].id = merge->id;
        symbols[at].next = symbols[next].next;
        symbols[next].id = -1;
        if (symbols[at].next >= 0) {
            symbols[symbols[at].next].prev = at;
        }
        queue_pair(work, symbols[at].prev);
        queue_pair(work, at);
    }
}

static ocelli_status encode_piece(encoder *work, const char *text, size_t size, ocelli_error *err)
{
    OC_TRY(reserve(work, size, err));
    work->queued = 0;
    for (size_t i = 0; i < size; i++) {
        work->symbols[i] = (symbol){.id = work->bpe->byte_id[(unsigned char)text[i]],
                                    .prev = (int32_t)i - 1,
                                    .next = i + 1 < size ? (int32_t)i + 1 : -1};
    }
    for (size_t i = 0; i + 1 < size; i++) {
        queue_pair(work, (int32_t)i);
    }
    merge_symbols(work);
    for (int32_t at = 0; at >= 0; at = work->symbols[at].next) {
        OC_TRY(oc_ids_push(work->out, work->symbols[at].id, err));
    }
    return OCELLI_OK;
}

/* Encodes the text gathered so far. */
static ocelli_status flush(encoder *work, ocelli_error *err)
{
    oc_buffer_clear(&work->normal);
    OC_TRY(oc_unicode_append_nfc(&work->normal, work->raw.data, work->raw.length, err));
    oc_buffer_clear(&work->raw);
    for (size_t at = 0; at < work->normal.length;) {
        size_t length = oc_split_next(work->normal.data + at, work->normal.length - at);
        OC_TRY(encode_piece(work, work->normal.data + at, length, err));
        at += length;
    }
    return OCELLI_OK;
}

/* Byte number depth of an added token. */
static unsigned char added_byte(const oc_bpe *bpe, size_t which, size_t depth)
{
    return (unsigned char)bpe->bytes[bpe->begin[bpe->added[which]] + depth];
}

/* The longest added token at the start of text (size > 0); -1 if there is none. low .. high are
 * those that begin with the bytes looked at so far. */
static int32_t match_added(const oc_bpe *bpe, const char *text, size_t size)
{
    int32_t longest = -1;
    size_t low = bpe->added_first[(unsigned char)text[0]];
    size_t high = bpe->added_first[(unsigned char)text[0] + 1];
    for (size_t depth = 1; low < high; depth++) {
        if (bpe->length[bpe->added[low]] == depth) {
            longest = bpe->added[low];
            low++;
        }
        if (depth == size) {
            break;
        }
        unsigned char byte = (unsigned char)text[depth];
        size_t last = high;
        while (low < last) { /* first one whose byte is not less */
            size_t middle = low + (last - low) / 2;
            if (added_byte(bpe, middle, depth) < byte) {
                low = middle + 1;
            } else {
                last = middle;
            }
        }
        size_t first = low;
        last = high;
        while (first < last) { /* first one whose byte is greater */
            size_t middle = first + (last - first) / 2;
            if (added_byte(bpe, middle, depth) <= byte) {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        high = first;
    }
    return longest;
}

static ocelli_status encode_special_run(encoder *work, const char *text, size_t size,
                                        ocelli_error *err)
{
    const oc_bpe *bpe = work->bpe;
    size_t begin = 0;
    for (size_t at = 0; at < size;) {
        unsigned char byte = (unsigned char)text[at];
        int32_t added = -1;
        if (bpe->added_first[byte] < bpe->added_first[byte + 1]) {
            added = match_added(bpe, text + at, size - at);
        }
        if (added < 0) {
            at++;
            continue;
        }
        OC_TRY(oc_buffer_append(&work->raw, text + begin, at - begin, err));
        OC_TRY(flush(work, err));
        OC_TRY(oc_ids_push(work->out, added, err));
        at += bpe->length[added];
        begin = at;
    }
    return oc_buffer_append(&work->raw, text + begin, size - begin, err);
}

static ocelli_status encode_runs(encoder *work, const oc_text_run *runs, size_t count,
                                 ocelli_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = runs[i].length;
        if (size == 0) {
            continue;
        }
        size_t good = oc_utf8_valid_prefix(runs[i].text, size);
        if (good < size) {
            return oc_fail(err, OCELLI_E_ARGUMENT, "text is not UTF-8 at byte %zu of %zu", good,
                           size);
        }
        OC_TRY(runs[i].special ? encode_special_run(work, runs[i].text, size, err)
                               : oc_buffer_append(&work->raw, runs[i].text, size, err));
    }
    return flush(work, err);
}

ocelli_status oc_bpe_encode(const oc_bpe *bpe, const oc_text_run *runs, size_t count, oc_ids *out,
                            ocelli_error *err)
{
    encoder work = {.bpe = bpe, .out = out};
    size_t before = out->count;
    ocelli_status status = encode_runs(&work, runs, count, err);
    if (status != OCELLI_OK) {
        out->count = before;
    }
    oc_buffer_close(&work.raw);
    oc_buffer_close(&work.normal);
    oc_free(work.symbols);
    oc_free(work.queue);
    return status;
}
