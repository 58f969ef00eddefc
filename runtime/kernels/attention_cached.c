/* attention_cached.c - see attention.h: causal attention over the kv cache, one row or many.
 *
 * A work item is one kv head of a block of neighbouring rows of the same session: its keys and
 * values are read once for all the query heads that share them and all the rows of the block. */
#include "runtime/kernels/attention_block.h"

#include <string.h>

/* Queries (rows x heads of a group) of a work item: reading a block of keys and values costs about
 * a tenth of using it. */
enum { MOST_QUERIES = 128 };

/* So few queries are bound by reading the cache: it is used without being widened to memory. */
enum { FEW_QUERIES = 16 };

enum { KEY_PIECE = 64 }; /* dims of a key that are narrowed at a time */

/* Neighbouring rows of one session. */
typedef struct row_block {
    size_t first, count;
    size_t length; /* the longest of theirs */
} row_block;

typedef struct cached_job {
    const oc_kernels *kernels;
    const oc_attention_row *rows;
    const row_block *blocks;
    size_t kv_heads, group, head_dim; /* group: query heads of one kv head */
    size_t queries;                   /* most of a block */
    float scale;
    unsigned char *scratch; /* [threads][scratch_bytes] */
    size_t state_bytes, key_bytes, scratch_bytes;
} cached_job;

static size_t element_size(oc_format format)
{
    return format == OC_FORMAT_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* One head's key into its column of the page. */
static void store_key(const oc_kernels *kernels, unsigned char *page, oc_format format, size_t lane,
                      const float *key, size_t head_dim)
{
    if (format == OC_FORMAT_F32) {
        for (size_t d = 0; d < head_dim; d++) {
            memcpy(page + (d * OC_KV_PAGE_SLOTS + lane) * sizeof *key, key + d, sizeof *key);
        }
        return;
    }
    uint16_t narrow[KEY_PIECE];
    for (size_t first = 0; first < head_dim; first += KEY_PIECE) {
        size_t count = head_dim - first < KEY_PIECE ? head_dim - first : KEY_PIECE;
        kernels->narrow_f16(narrow, key + first, count);
        for (size_t i = 0; i < count; i++) {
            memcpy(page + ((first + i) * OC_KV_PAGE_SLOTS + lane) * sizeof *narrow, narrow + i,
                   sizeof *narrow);
        }
    }
}

void oc_kv_store(const oc_compute *compute, const oc_kv_layer *layer, size_t slot, size_t kv_heads,
                 size_t head_dim, const float *key, const float *value)
{
    unsigned char *page = layer->pages[slot / OC_KV_PAGE_SLOTS];
    size_t element = element_size(layer->format), lane = slot % OC_KV_PAGE_SLOTS;
    for (size_t h = 0; h < kv_heads; h++) {
        size_t head = h * layer->head_stride;
        unsigned char *values = page + layer->value_offset + head + lane * head_dim * element;
        store_key(compute->kernels, page + layer->key_offset + head, layer->format, lane,
                  key + h * head_dim, head_dim);
        if (layer->format == OC_FORMAT_F32) {
            memcpy(values, value + h * head_dim, head_dim * element);
        } else {
            compute->kernels->narrow_f16((uint16_t *)(void *)values, value + h * head_dim,
                                         head_dim);
        }
    }
}

static bool same_cache(const oc_kv_layer *a, const oc_kv_layer *b)
{
    return a->pages == b->pages && a->key_offset == b->key_offset &&
           a->value_offset == b->value_offset && a->head_stride == b->head_stride &&
           a->format == b->format;
}

/* Cuts rows into blocks; returns how many. */
static size_t cut_blocks(row_block *blocks, const oc_attention_row *rows, size_t count,
                         size_t rows_per_block)
{
    size_t made = 0;
    for (size_t r = 0; r < count; r++) {
        row_block *last = made > 0 ? &blocks[made - 1] : NULL;
        if (last == NULL || last->count == rows_per_block ||
            !same_cache(&rows[last->first].cache, &rows[r].cache)) {
            blocks[made++] = (row_block){.first = r, .count = 1, .length = rows[r].length};
        } else {
            last->count++;
            last->length = rows[r].length > last->length ? rows[r].length : last->length;
        }
    }
    return made;
}

/* One page's keys and values, widened once for many queries or used as they are for few. */
static void attend_page(const cached_job *job, oc_attention_block *state, const oc_kv_layer *cache,
                        const unsigned char *page, const unsigned char *next, float *keys,
                        float *values, size_t count)
{
    const oc_kernels *k = job->kernels;
    const void *stored_keys = page + cache->key_offset, *stored_values = page + cache->value_offset;
    if (cache->format == OC_FORMAT_F16 && k->scores_f16 != NULL && state->queries <= FEW_QUERIES) {
        k->scores_f16(state->scores, OC_KEY_BLOCK, state->query, job->head_dim, state->queries,
                      stored_keys, stored_values);
        oc_attention_block_weigh(state, count);
        k->values_f16(state->sums, job->head_dim, state->scores, OC_KEY_BLOCK, state->queries,
                      stored_values, count, next != NULL ? next + cache->key_offset : NULL);
        return;
    }
    if (cache->format == OC_FORMAT_F16) {
        k->widen_f16(keys, stored_keys, OC_KEY_BLOCK * job->head_dim);
        stored_keys = keys;
    }
    oc_attention_pack_values(k, values, cache->format, stored_values, job->head_dim, job->head_dim,
                             count);
    oc_attention_block_step(state, stored_keys, values, count);
}

static void attend_block(const cached_job *job, const row_block *block, size_t kv_head,
                         unsigned char *memory)
{
    oc_attention_block state;
    const oc_attention_row *rows = job->rows + block->first;
    const oc_kv_layer *cache = &rows[0].cache;
    size_t head_bytes = kv_head * cache->head_stride;
    size_t width = job->group * job->head_dim; /* of one row's queries */
    float *keys = (float *)(void *)(memory + job->state_bytes);
    float *values = (float *)(void *)(memory + job->state_bytes + job->key_bytes);
    oc_attention_block_lay_out(&state, job->kernels, memory, job->queries, job->head_dim,
                               job->scale);
    state.key_step = OC_KEY_BLOCK; /* a page's keys are one panel of all its slots */
    state.key_panel = job->kernels->gemm_cols;
    oc_attention_block_begin(&state, block->count * job->group);
    for (size_t r = 0; r < block->count; r++) {
        memcpy(state.query + r * width, rows[r].query + kv_head * width, width * sizeof(float));
    }
    for (size_t first = 0; first < block->length; first += OC_KEY_BLOCK) {
        size_t left = block->length - first;
        size_t count = left < OC_KEY_BLOCK ? left : OC_KEY_BLOCK;
        for (size_t q = 0; q < state.queries; q++) {
            size_t length = rows[q / job->group].length;
            size_t seen = length > first ? length - first : 0;
            state.visible[q] = seen < count ? seen : count;
        }
        const unsigned char *page = cache->pages[first / OC_KV_PAGE_SLOTS] + head_bytes;
        const unsigned char *next =
            left > OC_KEY_BLOCK ? cache->pages[first / OC_KV_PAGE_SLOTS + 1] + head_bytes : NULL;
        attend_page(job, &state, cache, page, next, keys, values, count);
    }
    for (size_t q = 0; q < state.queries; q++) {
        float *out = rows[q / job->group].out + kv_head * width;
        oc_attention_block_end(&state, q, out + q % job->group * job->head_dim);
    }
}

static void attend_range(void *argument, size_t begin, size_t end, int worker)
{
    const cached_job *job = argument;
    for (size_t i = begin; i < end; i++) {
        attend_block(job, &job->blocks[i / job->kv_heads], i % job->kv_heads,
                     job->scratch + (size_t)worker * job->scratch_bytes);
    }
}

void oc_attention_cached(const oc_compute *compute, oc_arena *arena, const oc_attention_row *rows,
                         size_t count, size_t heads, size_t kv_heads, size_t head_dim, float scale)
{
    size_t mark = oc_arena_mark(arena);
    const oc_kernels *kernels = compute->kernels;
    size_t group = heads / kv_heads;
    size_t rows_per_block = group < MOST_QUERIES ? MOST_QUERIES / group : 1;
    rows_per_block = rows_per_block < count ? rows_per_block : count;
    cached_job job = {.kernels = kernels,
                      .rows = rows,
                      .kv_heads = kv_heads,
                      .group = group,
                      .head_dim = head_dim,
                      .queries = rows_per_block * group,
                      .scale = scale};
    job.state_bytes = oc_attention_block_bytes(job.queries, head_dim);
    job.key_bytes = OC_KEY_BLOCK * head_dim * sizeof(float);
    job.scratch_bytes = job.state_bytes + job.key_bytes +
                        oc_attention_value_floats(kernels, head_dim) * sizeof(float);
    row_block *blocks = oc_arena_take(arena, count, sizeof *blocks);
    job.scratch = oc_arena_take(arena, (size_t)oc_pool_threads(compute->pool), job.scratch_bytes);
    if (!arena->dry && !arena->overflow && count > 0) {
        size_t block_count = cut_blocks(blocks, rows, count, rows_per_block);
        job.blocks = blocks;
        oc_pool_run(compute->pool, block_count * kv_heads, 1, attend_range, &job);
    }
    oc_arena_release(arena, mark);
}
