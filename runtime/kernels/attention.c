/* attention.c - see attention.h: full attention of the vision tower in float32 (in bfloat16:
 * attention_bf16.c).
 *
 * Two steps over the pool: all keys and values are packed once, head by head; then every block of
 * queries of every head walks over its head's blocks. */
#include "runtime/kernels/attention_block.h"

#include <string.h>

enum { QUERY_BLOCK = 64 };

typedef struct full_job {
    const oc_kernels *kernels;
    const oc_attention_full_job *job;
    size_t blocks; /* of 64 rows: keys and queries alike */
    size_t key_floats, value_floats;
    float *keys;            /* [heads][blocks][key_floats] */
    float *values;          /* [heads][blocks][value_floats] */
    float *turned;          /* [threads][64][head_dim]: keys on their way */
    unsigned char *scratch; /* [threads][scratch_bytes] */
    size_t scratch_bytes;
} full_job;

static size_t rows_of_block(const full_job *full, size_t block)
{
    size_t left = full->job->rows - block * QUERY_BLOCK;
    return left < QUERY_BLOCK ? left : QUERY_BLOCK;
}

/* A copy of one head of a row, rotated if that is asked for. */
static void turn_row(const full_job *full, float *out, const float *row, size_t r)
{
    const oc_attention_full_job *job = full->job;
    size_t half = job->head_dim / 2;
    memcpy(out, row, job->head_dim * sizeof *out);
    if (job->cosine != NULL) {
        full->kernels->rope(out, job->cosine + r * half, job->sine + r * half, half);
    }
}

static void pack_blocks(void *argument, size_t begin, size_t end, int worker)
{
    const full_job *full = argument;
    const oc_attention_full_job *job = full->job;
    float *turned = full->turned + (size_t)worker * QUERY_BLOCK * job->head_dim;
    for (size_t i = begin; i < end; i++) {
        size_t head = i / full->blocks, block = i % full->blocks;
        size_t first = block * OC_KEY_BLOCK * job->stride + head * job->head_dim;
        size_t count = rows_of_block(full, block);
        for (size_t r = 0; r < count; r++) {
            turn_row(full, turned + r * job->head_dim, job->key + first + r * job->stride,
                     block * OC_KEY_BLOCK + r);
        }
        oc_attention_pack_keys(full->kernels, full->keys + i * full->key_floats, OC_FORMAT_F32,
                               turned, job->head_dim, job->head_dim, count);
        oc_attention_pack_values(full->kernels, full->values + i * full->value_floats,
                                 OC_FORMAT_F32, job->value + first, job->stride, job->head_dim,
                                 count);
    }
}

static void attend_blocks(void *argument, size_t begin, size_t end, int worker)
{
    const full_job *full = argument;
    const oc_attention_full_job *job = full->job;
    oc_attention_block state;
    oc_attention_block_lay_out(&state, full->kernels,
                               full->scratch + (size_t)worker * full->scratch_bytes, QUERY_BLOCK,
                               job->head_dim, job->scale);
    for (size_t i = begin; i < end; i++) {
        size_t head = i / full->blocks, block = i % full->blocks;
        size_t queries = rows_of_block(full, block), first = block * QUERY_BLOCK;
        oc_attention_block_begin(&state, queries);
        for (size_t q = 0; q < queries; q++) {
            turn_row(full, state.query + q * job->head_dim,
                     job->query + (first + q) * job->stride + head * job->head_dim, first + q);
        }
        for (size_t b = 0; b < full->blocks; b++) {
            size_t packed = head * full->blocks + b, count = rows_of_block(full, b);
            for (size_t q = 0; q < queries; q++) {
                state.visible[q] = count;
            }
            oc_attention_block_step(&state, full->keys + packed * full->key_floats,
                                    full->values + packed * full->value_floats, count);
        }
        for (size_t q = 0; q < queries; q++) {
            oc_attention_block_end(&state, q,
                                   job->out + (first + q) * job->out_stride + head * job->head_dim);
        }
    }
}

void oc_attention_full(const oc_compute *compute, oc_arena *arena, const oc_attention_full_job *job)
{
    size_t mark = oc_arena_mark(arena), threads = (size_t)oc_pool_threads(compute->pool);
    const oc_kernels *kernels = compute->kernels;
    full_job full = {.kernels = kernels, .job = job};
    full.blocks = job->rows / QUERY_BLOCK + (job->rows % QUERY_BLOCK != 0);
    full.key_floats = oc_attention_key_floats(kernels, job->head_dim);
    full.value_floats = oc_attention_value_floats(kernels, job->head_dim);
    full.scratch_bytes = oc_attention_block_bytes(QUERY_BLOCK, job->head_dim);
    size_t items = job->heads * full.blocks;
    full.keys = oc_arena_take(arena, items, full.key_floats * sizeof(float));
    full.values = oc_arena_take(arena, items, full.value_floats * sizeof(float));
    full.turned = oc_arena_take(arena, threads * QUERY_BLOCK, job->head_dim * sizeof(float));
    full.scratch = oc_arena_take(arena, threads, full.scratch_bytes);
    if (!arena->dry && !arena->overflow) {
        oc_pool_run(compute->pool, items, 4, pack_blocks, &full);
        oc_pool_run(compute->pool, items, 1, attend_blocks, &full);
    }
    oc_arena_release(arena, mark);
}
