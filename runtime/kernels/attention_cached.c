

/* attention_cached.c - see attention.h: causal attention over the kv cache, one row or many.
 *
 * A work item is one kv head of a block of neighbouring rows of the same session: its keys and
 * values are read once for all the query heads that share them and all the rows of the block. */
#include "runtime/kernels/attention_block.h"

#include "runtime/base/memory.h"

#include <string.h>

/* Queries (rows x heads of a group) of a work item: reading a block of keys and values costs about
 * a tenth of using it. */
enum { MOST_QUERIES = 128 };

/* So few queries are bound by reading the cache: it is used without being widened to memory. */
enum { FEW_QUERIES = 16 };

enum { KEY_PIECE = OC_KV_PANEL }; /* dims of a key that are narrowed at a time */

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

/* A worker's own memory beside the state of its block: of float caches, or of bfloat16 ones. */
typedef struct page_scratch {
    float *keys;       /* [head_dim][64] of a page, widened */
    float *values;     /* [64][value_width] */
    uint16_t *query;   /* [queries][head_dim] */
    uint16_t *weights; /* [queries][64] */
} page_scratch;

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t element_size(oc_format format)
{
    return format == OC_FORMAT_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* One head's key and value into their places of a page of bfloat16. Of a pair of slots the second
 * is zero until it is written: it may be multiplied by a weight of zero,
 * and must be a number then. */
static void store_halves(const oc_kernels *kernels, unsigned char *keys, unsigned char *values,
                         size_t lane, const float *key, const float *value, size_t head_dim)
{
    uint16_t narrow[KEY_PIECE];
    for (size_t first = 0; first < head_dim; first += KEY_PIECE) {
        size_t count = head_dim - first < KEY_PIECE ? head_dim - first : KEY_PIECE;
        kernels->narrow_bf16(narrow, key + first, count);
        for (size_t i = 0; i < count; i += OC_BF16_STEP) {
            memcpy(keys + oc_kv_key_at(lane, first + i), narrow + i, OC_BF16_STEP * sizeof *narrow);
        }
        kernels->narrow_bf16(narrow, value + first, count);
        unsigned char *place = values + oc_kv_value_at(lane, first, head_dim);
        bool begins = lane % OC_BF16_STEP == 0;
        for (size_t i = 0; i < count; i++) { /* pairs of slots of one panel follow one another */
            const uint16_t pair[OC_BF16_STEP] = {narrow[i], 0};
            if (begins) {
                memcpy(place, pair, sizeof pair);
            } else {
                memcpy(place, narrow + i, sizeof *narrow);
            }
            place += sizeof pair;
        }
    }
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
        unsigned char *values = page + layer->value_offset + head;
        if (layer->format == OC_FORMAT_BF16) {
            store_halves(compute->kernels, page + layer->key_offset + head, values, lane,
                         key + h * head_dim, value + h * head_dim, head_dim);
            continue;
        }
        values += lane * head_dim * element;
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

/* A page of bfloat16: keys are the packed matrix of one product, values that of the other, and
 * queries and weights are its rows, whether they are few or many. */
static void attend_halves(const cached_job *job, oc_attention_block *state,
                          const unsigned char *keys, const unsigned char *values,
                          const page_scratch *scratch, size_t count)
{
    enum { LINES = OC_KV_PAGE_SLOTS / OC_BF16_TILE };
    const oc_kernels *k = job->kernels;
    k->product_bf16(&(oc_bf16_product){.rows = state->queries,
                                       .tiles = LINES,
                                       .steps = job->head_dim / OC_BF16_STEP,
                                       .x = scratch->query,
                                       .x_stride = job->head_dim,
                                       .packed = keys,
                                       .packed_stride = OC_BF16_LINE,
                                       .packed_step = LINES * OC_BF16_LINE,
                                       .y = state->scores,
                                       .y_stride = OC_KEY_BLOCK});
    k->weigh_page_bf16(&(oc_bf16_page){.queries = state->queries,
                                       .keys = count,
                                       .visible = state->visible,
                                       .scale = job->scale * OC_LOG2_E,
                                       .scores = state->scores,
                                       .max = state->max,
                                       .total = state->total,
                                       .weights = scratch->weights,
                                       .dims = job->head_dim,
                                       .sums = state->sums});
    for (size_t d = 0; d < job->head_dim; d += OC_KV_PANEL) {
        size_t left = job->head_dim - d, width = left < OC_KV_PANEL ? left : OC_KV_PANEL;
        k->product_bf16(&(oc_bf16_product){.rows = state->queries,
                                           .tiles = width / OC_BF16_TILE,
                                           .steps = (count + 1) / OC_BF16_STEP,
                                           .x = scratch->weights,
                                           .x_stride = OC_KEY_BLOCK,
                                           .packed = values + oc_kv_value_at(0, d, job->head_dim),
                                           .packed_stride = OC_BF16_LINE,
                                           .packed_step = width / OC_BF16_TILE * OC_BF16_LINE,
                                           .y = state->sums + d,
                                           .y_stride = job->head_dim,
                                           .add = true});
    }
}

/* One page's keys and values, widened once for many queries or used as they are for few. */
static void attend_page(const cached_job *job, oc_attention_block *state, const oc_kv_layer *cache,
                        const unsigned char *page, const unsigned char *next,
                        const page_scratch *scratch, size_t count)
{
    const oc_kernels *k = job->kernels;
    const void *stored_keys = page + cache->key_offset, *stored_values = page + cache->value_offset;
    if (cache->format == OC_FORMAT_BF16) {
        attend_halves(job, state, stored_keys, stored_values, scratch, count);
        return;
    }
    if (cache->format == OC_FORMAT_F16 && k->scores_f16 != NULL && state->queries <= FEW_QUERIES) {
        k->scores_f16(state->scores, OC_KEY_BLOCK, state->query, job->head_dim, state->queries,
                      stored_keys, stored_values);
        oc_attention_block_weigh(state, count);
        k->values_f16(state->sums, job->head_dim, state->scores, OC_KEY_BLOCK, state->queries,
                      stored_values, count, next != NULL ? next + cache->key_offset : NULL);
        return;
    }
    if (cache->format == OC_FORMAT_F16) {
        k->widen_f16(scratch->keys, stored_keys, OC_KEY_BLOCK * job->head_dim);
        stored_keys = scratch->keys;
    }
    oc_attention_pack_values(k, scratch->values, cache->format, stored_values, job->head_dim,
                             job->head_dim, count);
    oc_attention_block_step(state, stored_keys, scratch->values, count);
}

static void attend_block(const cached_job *job, const row_block *block, size_t kv_head,
                         unsigned char *memory)
{
    oc_attention_block state;
    const oc_attention_row *rows = job->rows + block->first;
    const oc_kv_layer *cache = &rows[0].cache;
    size_t head_bytes = kv_head * cache->head_stride;
    size_t width = job->group * job->head_dim; /* of one row's queries */
    void *first_part = memory + job->state_bytes;
    void *second_part = memory + job->state_bytes + job->key_bytes;
    page_scratch scratch = {first_part, second_part, first_part, second_part};
    oc_attention_block_lay_out(&state, job->kernels, memory, job->queries, job->head_dim,
                               job->scale);
    state.key_step = OC_KEY_BLOCK; /* a page's keys are one panel of all its slots */
    state.key_panel = job->kernels->gemm_cols;
    oc_attention_block_begin(&state, block->count * job->group);
    for (size_t r = 0; r < block->count; r++) {
        const float *query = rows[r].query + kv_head * width;
        if (cache->format == OC_FORMAT_BF16) {
            job->kernels->narrow_bf16(scratch.query + r * width, query, width);
        } else {
            memcpy(state.query + r * width, query, width * sizeof *query);
        }
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
        attend_page(job, &state, cache, page, next, &scratch, count);
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
    size_t key_bytes =
        most(OC_KEY_BLOCK * head_dim * sizeof(float), job.queries * head_dim * sizeof(uint16_t));
    size_t value_bytes = most(oc_attention_value_floats(kernels, head_dim) * sizeof(float),
                              job.queries * OC_KEY_BLOCK * sizeof(uint16_t));
    job.key_bytes = oc_round_up(key_bytes, OC_ALIGNMENT);
    job.scratch_bytes = job.state_bytes + job.key_bytes + oc_round_up(value_bytes, OC_ALIGNMENT);
    row_block *blocks = oc_arena_take(arena, count, sizeof *blocks);
    job.scratch = oc_arena_take(arena, (size_t)oc_pool_threads(compute->pool), job.scratch_bytes);
    if (!arena->dry && !arena->overflow && count > 0) {
        size_t block_count = cut_blocks(blocks, rows, count, rows_per_block);
        job.blocks = blocks;
        oc_pool_run(compute->pool, block_count * kv_heads, 1, attend_range, &job);
    }
    oc_arena_release(arena, mark);
}
