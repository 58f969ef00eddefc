/* attention_bf16.c - see attention.h: full attention of the vision tower in bfloat16.
 *
 * Both products are product_bf16, with queries in the lanes:
 *
 *     scores [keys][queries]  = K [keys][dims]  x  Q, tiles of 16 queries
 *     sums   [dims][queries] += Vt [dims][keys] x  P, tiles of 16 queries
 *
 * So the largest score, the sum of weights and the correction of a query stay in its lane, nothing
 * is summed across lanes, and the weights leave weigh_bf16 as the tiles that the second product
 * wants. Keys come in blocks of KEYS from row 0 on, so a query's bits depend on itself and its keys
 * alone.
 *
 * A head's keys and values of a large picture exceed a core's caches (16 MiB at 4096x4096): then some
 * blocks of queries take turns over as many keys as stay in the level-2 cache. */
#include "runtime/kernels/attention.h"

#include "runtime/base/memory.h"

#include <math.h>
#include <string.h>

enum {
    QUERIES = OC_BF16_COLS,
    /* Scores, weights, and the sums of 64 dimensions beside them: 48 KiB, a level-1 cache. */
    KEYS = 128,
    WEIGHTS_STRIDE = KEYS / OC_BF16_STEP * OC_BF16_LINE,
    /* Blocks of queries that take turns, from so many blocks on: their sums are 200 KiB for 64 dimensions, the
     * keys and values of a turn 256 KiB. */
    TURN_QUERIES = 16,
    TURN_KEYS = 8, /* blocks */
    TURNS_LEAST = 64
};

typedef struct bf16_job {
    const oc_kernels *kernels;
    const oc_attention_bf16_job *job;
    size_t query_blocks, key_blocks;
    size_t turns;           /* blocks of queries of a work item */
    size_t width;           /* head_dim up to an even number */
    size_t pack_rows;       /* rows that are packed together */
    size_t query_bytes;     /* of one tile of 16 queries */
    unsigned char *query;   /* [heads][query_blocks][OC_BF16_TILES] tiles */
    uint16_t *key;          /* [heads][rows][width] */
    uint16_t *value;        /* [heads][key_blocks][head_dim][KEYS] */
    unsigned char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;
} bf16_job;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- packing --------------------------------------------------------------------------------- */

/* A worker's memory for packing. */
typedef struct pack_scratch {
    float *row;       /* [heads * head_dim]: queries or keys of a row */
    uint16_t *turned; /* [heads * head_dim + 1] */
    float *pairs;     /* [gemm_cols][head_dim]: two keys' values, as the bits of a float */
    float *panel;     /* [head_dim][gemm_cols] */
} pack_scratch;

static size_t row_bytes(const bf16_job *bf16)
{
    return oc_round_up((bf16->job->heads * bf16->job->head_dim + 1) * sizeof(float), OC_ALIGNMENT);
}

static size_t panel_bytes(const bf16_job *bf16)
{
    size_t floats = bf16->job->head_dim * bf16->kernels->gemm_cols;
    return oc_round_up(floats * sizeof(float), OC_ALIGNMENT);
}

static size_t packing_bytes(const bf16_job *bf16)
{
    return 2 * row_bytes(bf16) + 2 * panel_bytes(bf16);
}

static void lay_out_packing(const bf16_job *bf16, unsigned char *memory, pack_scratch *out)
{
    unsigned char *panels = memory + 2 * row_bytes(bf16);
    out->row = (float *)(void *)memory;
    out->turned = (uint16_t *)(void *)(memory + row_bytes(bf16));
    out->pairs = (float *)(void *)panels;
    out->panel = (float *)(void *)(panels + panel_bytes(bf16));
}

/* All heads of row r, rotated, scaled and rounded again, to scratch->turned. */
static void turn_row(const bf16_job *bf16, const pack_scratch *scratch, const uint16_t *halves,
                     size_t r, float scale)
{
    const oc_attention_bf16_job *job = bf16->job;
    size_t half = job->head_dim / 2, count = job->heads * job->head_dim;
    bf16->kernels->widen_bf16(scratch->row, halves + r * job->stride, count);
    for (size_t head = 0; head < job->heads && job->cosine != NULL; head++) {
        bf16->kernels->rope(scratch->row + head * job->head_dim, job->cosine + r * half,
                            job->sine + r * half, half);
    }
    if (scale != 1.0f) {
        bf16->kernels->scale(scratch->row, scale, count);
    }
    bf16->kernels->narrow_bf16(scratch->turned, scratch->row, count);
}

/* One head of a row into places `step` bytes apart, two dimensions in each. */
static void store_steps(const bf16_job *bf16, unsigned char *out, size_t step,
                        const uint16_t *halves)
{
    uint16_t last[OC_BF16_STEP] = {0, 0};
    size_t steps = bf16->job->head_dim / OC_BF16_STEP;
    for (size_t s = 0; s < steps; s++) {
        memcpy(out + s * step, halves + s * OC_BF16_STEP, sizeof last);
    }
    if (bf16->job->head_dim % OC_BF16_STEP != 0) {
        last[0] = halves[bf16->job->head_dim - 1];
        memcpy(out + steps * step, last, sizeof last);
    }
}

/* Query r of a head: its lane of a tile. */
static unsigned char *find_query(const bf16_job *bf16, size_t head, size_t r)
{
    size_t tile = head * bf16->query_blocks * OC_BF16_TILES + r / OC_BF16_TILE;
    return bf16->query + tile * bf16->query_bytes + oc_bf16_at(r % OC_BF16_TILE, 0);
}

/* Keys become columns: pairs of keys are transposed as if they were floats, which are moved and
 * never computed with. What is behind the last key is zero. */
static void pack_values(const bf16_job *bf16, const pack_scratch *scratch, size_t head,
                        size_t first)
{
    const oc_attention_bf16_job *job = bf16->job;
    size_t cols = bf16->kernels->gemm_cols, dims = job->head_dim;
    size_t count = least(bf16->pack_rows, job->rows - first);
    const uint16_t *rows = job->value + first * job->stride + head * dims;
    uint16_t *out = bf16->value + (head * bf16->key_blocks + first / KEYS) * dims * KEYS;
    for (size_t r = 0; r < count; r += 2) {
        const uint16_t *even = rows + r * job->stride;
        const uint16_t *odd = even + (r + 1 < count ? job->stride : 0);
        uint32_t keep = r + 1 < count ? UINT32_MAX : 0xffffu;
        for (size_t d = 0; d < dims; d++) {
            uint32_t pair = ((uint32_t)odd[d] << 16 | even[d]) & keep;
            memcpy(scratch->pairs + r / 2 * dims + d, &pair, sizeof pair);
        }
    }
    bf16->kernels->pack[OC_FORMAT_F32](scratch->panel, scratch->pairs, dims, (count + 1) / 2, dims);
    for (size_t d = 0; d < dims; d++) {
        memcpy(out + d * KEYS + first % KEYS, scratch->panel + d * cols, cols * sizeof(float));
    }
}

/* Item: pack_rows rows of all heads, so that rows are read as they lie in memory. */
static void pack_items(void *argument, size_t begin, size_t end, int worker)
{
    const bf16_job *bf16 = argument;
    const oc_attention_bf16_job *job = bf16->job;
    size_t dims = job->head_dim;
    pack_scratch scratch;
    lay_out_packing(bf16, bf16->scratch + (size_t)worker * bf16->scratch_bytes, &scratch);
    for (size_t i = begin; i < end; i++) {
        size_t first = i * bf16->pack_rows, row_end = least(first + bf16->pack_rows, job->rows);
        for (size_t r = first; r < row_end; r++) {
            turn_row(bf16, &scratch, job->key, r, 1.0f);
            for (size_t head = 0; head < job->heads; head++) {
                uint16_t *key = bf16->key + (head * job->rows + r) * bf16->width;
                store_steps(bf16, (unsigned char *)key, OC_BF16_STEP * sizeof *key,
                            scratch.turned + head * dims);
            }
            turn_row(bf16, &scratch, job->query, r, job->scale * OC_LOG2_E);
            for (size_t head = 0; head < job->heads; head++) {
                store_steps(bf16, find_query(bf16, head, r), OC_BF16_LINE,
                            scratch.turned + head * dims);
            }
            bf16->kernels->prefetch(job->value + r * job->stride,
                                    job->heads * dims * sizeof *job->value);
        }
        for (size_t head = 0; head < job->heads; head++) {
            pack_values(bf16, &scratch, head, first);
        }
    }
}

/* The lanes behind the last query of the last tile. */
static void clear_queries(const bf16_job *bf16)
{
    for (size_t head = 0; head < bf16->job->heads; head++) {
        for (size_t r = bf16->job->rows; r % OC_BF16_TILE != 0; r++) {
            unsigned char *out = find_query(bf16, head, r);
            for (size_t s = 0; s < bf16->width / OC_BF16_STEP; s++) {
                memset(out + s * OC_BF16_LINE, 0, OC_BF16_STEP * sizeof(uint16_t));
            }
        }
    }
}

/* ---- attending ------------------------------------------------------------------------------- */

/* What a block of queries has so far. */
typedef struct query_state {
    float *sums;        /* [head_dim][QUERIES] */
    float *max, *total; /* [QUERIES] */
} query_state;

typedef struct attend_scratch {
    float *scores;          /* [KEYS][QUERIES] */
    unsigned char *weights; /* [OC_BF16_TILES][WEIGHTS_STRIDE] */
    float *panel;           /* [QUERIES][gemm_cols] */
    unsigned char *states;  /* [turns], see find_state */
} attend_scratch;

enum {
    SCORES_BYTES = KEYS * QUERIES * sizeof(float),
    WEIGHTS_BYTES = OC_BF16_TILES * WEIGHTS_STRIDE,
    LANES_BYTES = QUERIES * sizeof(float) /* a multiple of OC_ALIGNMENT */
};

static size_t state_bytes(const bf16_job *bf16)
{
    return (bf16->job->head_dim + 2) * LANES_BYTES;
}

static size_t attending_bytes(const bf16_job *bf16)
{
    return SCORES_BYTES + WEIGHTS_BYTES + bf16->kernels->gemm_cols * LANES_BYTES +
           bf16->turns * state_bytes(bf16);
}

static void lay_out_attending(const bf16_job *bf16, unsigned char *memory, attend_scratch *out)
{
    out->scores = (float *)(void *)memory;
    out->weights = memory + SCORES_BYTES;
    out->panel = (float *)(void *)(out->weights + WEIGHTS_BYTES);
    out->states = out->weights + WEIGHTS_BYTES + bf16->kernels->gemm_cols * LANES_BYTES;
}

static query_state find_state(const bf16_job *bf16, const attend_scratch *scratch, size_t turn)
{
    unsigned char *sums = scratch->states + turn * state_bytes(bf16);
    unsigned char *max = sums + bf16->job->head_dim * LANES_BYTES;
    return (query_state){.sums = (float *)(void *)sums,
                         .max = (float *)(void *)max,
                         .total = (float *)(void *)(max + LANES_BYTES)};
}

static void clear_state(const bf16_job *bf16, const query_state *state)
{
    memset(state->sums, 0, bf16->job->head_dim * LANES_BYTES);
    for (size_t q = 0; q < QUERIES; q++) {
        state->max[q] = -INFINITY;
        state->total[q] = 0.0f;
    }
}

static void attend_keys(const bf16_job *bf16, const attend_scratch *scratch,
                        const query_state *state, size_t head, size_t query, size_t block)
{
    const oc_attention_bf16_job *job = bf16->job;
    size_t first = block * KEYS, count = least(KEYS, job->rows - first);
    size_t queries = least(QUERIES, job->rows - query * QUERIES);
    size_t tiles = (queries + OC_BF16_TILE - 1) / OC_BF16_TILE;
    bf16->kernels->product_bf16(
        &(oc_bf16_product){.rows = count,
                           .tiles = tiles,
                           .steps = bf16->width / OC_BF16_STEP,
                           .x = bf16->key + (head * job->rows + first) * bf16->width,
                           .x_stride = bf16->width,
                           .packed = bf16->query + (head * bf16->query_blocks + query) *
                                                       OC_BF16_TILES * bf16->query_bytes,
                           .packed_stride = bf16->query_bytes,
                           .packed_step = OC_BF16_LINE,
                           .y = scratch->scores,
                           .y_stride = QUERIES});
    bf16->kernels->weigh_bf16(&(oc_bf16_weighing){.keys = count,
                                                  .tiles = tiles,
                                                  .scores = scratch->scores,
                                                  .max = state->max,
                                                  .total = state->total,
                                                  .weights = scratch->weights,
                                                  .weights_stride = WEIGHTS_STRIDE,
                                                  .dims = job->head_dim,
                                                  .sums = state->sums});
    bf16->kernels->product_bf16(&(oc_bf16_product){
        .rows = job->head_dim,
        .tiles = tiles,
        .steps = (count + 1) / OC_BF16_STEP,
        .x = bf16->value + (head * bf16->key_blocks + block) * job->head_dim * KEYS,
        .x_stride = KEYS,
        .packed = scratch->weights,
        .packed_stride = WEIGHTS_STRIDE,
        .packed_step = OC_BF16_LINE,
        .y = state->sums,
        .y_stride = QUERIES,
        .add = true});
}

/* sums [dims][queries] / total to the rows of the output. */
static void store_rows(const bf16_job *bf16, const attend_scratch *scratch,
                       const query_state *state, size_t head, size_t query)
{
    const oc_attention_bf16_job *job = bf16->job;
    size_t first = query * QUERIES, queries = least(QUERIES, job->rows - first);
    size_t cols = bf16->kernels->gemm_cols;
    float *factor = state->total;
    for (size_t q = 0; q < queries; q++) {
        factor[q] = 1.0f / factor[q];
    }
    for (size_t d = 0; d < job->head_dim; d++) {
        for (size_t q = 0; q < queries; q++) {
            state->sums[d * QUERIES + q] *= factor[q];
        }
    }
    for (size_t d = 0; d < job->head_dim; d += cols) {
        size_t count = least(cols, job->head_dim - d);
        bf16->kernels->pack[OC_FORMAT_F32](scratch->panel, state->sums + d * QUERIES, QUERIES,
                                           count, queries);
        for (size_t q = 0; q < queries; q++) {
            const float *row = scratch->panel + q * cols;
            size_t at = head * job->head_dim + d;
            at += (first + q) * job->out_stride;
            if (job->out != NULL) {
                bf16->kernels->narrow_bf16(job->out + at, row, count);
            } else {
                memcpy(job->wide_out + at, row, count * sizeof *row);
            }
        }
    }
}

/* Item: some of a head's blocks of QUERIES. */
static void attend_item(const bf16_job *bf16, const attend_scratch *scratch, size_t head,
                        size_t first_query)
{
    size_t end = least(first_query + bf16->turns, bf16->query_blocks);
    for (size_t query = first_query; query < end; query++) {
        query_state state = find_state(bf16, scratch, query - first_query);
        clear_state(bf16, &state);
    }
    for (size_t first = 0; first < bf16->key_blocks; first += TURN_KEYS) {
        size_t key_end = least(first + TURN_KEYS, bf16->key_blocks);
        for (size_t query = first_query; query < end; query++) {
            query_state state = find_state(bf16, scratch, query - first_query);
            for (size_t block = first; block < key_end; block++) {
                attend_keys(bf16, scratch, &state, head, query, block);
            }
        }
    }
    for (size_t query = first_query; query < end; query++) {
        query_state state = find_state(bf16, scratch, query - first_query);
        store_rows(bf16, scratch, &state, head, query);
    }
}

static size_t items_of_head(const bf16_job *bf16)
{
    return (bf16->query_blocks + bf16->turns - 1) / bf16->turns;
}

static void attend_items(void *argument, size_t begin, size_t end, int worker)
{
    const bf16_job *bf16 = argument;
    attend_scratch scratch;
    lay_out_attending(bf16, bf16->scratch + (size_t)worker * bf16->scratch_bytes, &scratch);
    for (size_t i = begin; i < end; i++) {
        attend_item(bf16, &scratch, i / items_of_head(bf16), i % items_of_head(bf16) * bf16->turns);
    }
}

void oc_attention_full_bf16(const oc_compute *compute, oc_arena *arena,
                            const oc_attention_bf16_job *job)
{
    size_t mark = oc_arena_mark(arena);
    bf16_job bf16 = {.kernels = compute->kernels, .job = job};
    bf16.query_blocks = job->rows / QUERIES + (job->rows % QUERIES != 0);
    bf16.key_blocks = job->rows / KEYS + (job->rows % KEYS != 0);
    bf16.turns = bf16.query_blocks < TURNS_LEAST ? 1 : TURN_QUERIES;
    bf16.width = oc_round_up(job->head_dim, OC_BF16_STEP);
    bf16.pack_rows = OC_BF16_STEP * bf16.kernels->gemm_cols;
    bf16.query_bytes = bf16.width / OC_BF16_STEP * OC_BF16_LINE;
    size_t packing = packing_bytes(&bf16), attending = attending_bytes(&bf16);
    bf16.scratch_bytes = packing > attending ? packing : attending;
    bf16.query =
        oc_arena_take(arena, job->heads * bf16.query_blocks * OC_BF16_TILES, bf16.query_bytes);
    bf16.key = oc_arena_take(arena, job->heads * job->rows, bf16.width * sizeof *bf16.key);
    bf16.value = oc_arena_take(arena, job->heads * bf16.key_blocks * KEYS,
                               job->head_dim * sizeof *bf16.value);
    bf16.scratch = oc_arena_take(arena, (size_t)oc_pool_threads(compute->pool), bf16.scratch_bytes);
    if (!arena->dry && !arena->overflow) {
        size_t items = job->rows / bf16.pack_rows + (job->rows % bf16.pack_rows != 0);
        clear_queries(&bf16);
        oc_pool_run(compute->pool, items, 1, pack_items, &bf16);
        oc_pool_run(compute->pool, job->heads * items_of_head(&bf16), 1, attend_items, &bf16);
    }
    oc_arena_release(arena, mark);
}
