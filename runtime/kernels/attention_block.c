/* attention_block.c - see attention_block.h. Both products go through the float32 gemm kernel. */
#include "runtime/kernels/attention_block.h"

#include "runtime/base/memory.h"

#include <math.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t oc_attention_key_floats(const oc_kernels *kernels, size_t head_dim)
{
    return oc_round_up(OC_KEY_BLOCK, kernels->gemm_cols) * head_dim;
}

size_t oc_attention_value_floats(const oc_kernels *kernels, size_t head_dim)
{
    return OC_KEY_BLOCK * oc_round_up(head_dim, kernels->gemm_cols);
}

void oc_attention_pack_keys(const oc_kernels *kernels, float *packed, oc_format format,
                            const void *rows, size_t stride, size_t head_dim, size_t count)
{
    size_t cols = kernels->gemm_cols;
    size_t element = format == OC_FORMAT_F32 ? sizeof(float) : sizeof(uint16_t);
    for (size_t first = 0; first < count; first += cols) {
        const unsigned char *source = (const unsigned char *)rows + first * stride * element;
        kernels->pack[format](packed + first * head_dim, source, stride, least(cols, count - first),
                              head_dim);
    }
}

void oc_attention_pack_values(const oc_kernels *kernels, float *packed, oc_format format,
                              const void *rows, size_t stride, size_t head_dim, size_t count)
{
    size_t width = oc_round_up(head_dim, kernels->gemm_cols);
    for (size_t i = 0; i < count; i++) {
        float *out = packed + i * width;
        if (format == OC_FORMAT_F16) {
            kernels->widen_f16(out, (const uint16_t *)rows + i * stride, head_dim);
        } else {
            memcpy(out, (const float *)rows + i * stride, head_dim * sizeof *out);
        }
        memset(out + head_dim, 0, (width - head_dim) * sizeof *out);
    }
}

/* Every array starts at a cache line. */
static size_t lines(size_t count, size_t size)
{
    return oc_round_up(count * size, OC_ALIGNMENT);
}

size_t oc_attention_block_bytes(size_t queries, size_t head_dim)
{
    return 2 * lines(queries * head_dim, sizeof(float)) +
           lines(queries * OC_KEY_BLOCK, sizeof(float)) + 2 * lines(queries, sizeof(float)) +
           lines(queries, sizeof(size_t));
}

void oc_attention_block_lay_out(oc_attention_block *block, const oc_kernels *kernels,
                                unsigned char *memory, size_t queries, size_t head_dim, float scale)
{
    size_t rows = lines(queries * head_dim, sizeof(float));
    *block = (oc_attention_block){.kernels = kernels, .head_dim = head_dim, .scale = scale};
    block->value_width = oc_round_up(head_dim, kernels->gemm_cols);
    block->key_step = kernels->gemm_cols;
    block->key_panel = kernels->gemm_cols * head_dim;
    block->query = (float *)(void *)memory;
    memory += rows;
    block->sums = (float *)(void *)memory;
    memory += rows;
    block->scores = (float *)(void *)memory;
    memory += lines(queries * OC_KEY_BLOCK, sizeof(float));
    block->max = (float *)(void *)memory;
    memory += lines(queries, sizeof(float));
    block->total = (float *)(void *)memory;
    memory += lines(queries, sizeof(float));
    block->visible = (size_t *)(void *)memory;
}

void oc_attention_block_begin(oc_attention_block *block, size_t queries)
{
    block->queries = queries;
    memset(block->sums, 0, queries * block->head_dim * sizeof(float));
    for (size_t q = 0; q < queries; q++) {
        block->max[q] = -INFINITY;
        block->total[q] = 0.0f;
    }
}

/* Scores become weights. What a query does not see weighs nothing: adding zero changes no bit. */
void oc_attention_block_weigh(oc_attention_block *block, size_t count)
{
    for (size_t q = 0; q < block->queries; q++) {
        float *scores = block->scores + q * OC_KEY_BLOCK;
        size_t visible = block->visible[q];
        float correction = block->kernels->softmax_block(scores, visible, block->scale,
                                                         &block->max[q], &block->total[q]);
        memset(scores + visible, 0, (count - visible) * sizeof *scores);
        if (correction != 1.0f) {
            block->kernels->scale(block->sums + q * block->head_dim, correction, block->head_dim);
        }
    }
}

void oc_attention_block_step(oc_attention_block *block, const float *keys, const float *values,
                             size_t count)
{
    size_t cols = block->kernels->gemm_cols;
    oc_gemm gemm = {.rows = block->queries,
                    .depth = block->head_dim,
                    .x = block->query,
                    .x_row = block->head_dim,
                    .x_step = 1,
                    .w_step = block->key_step,
                    .y_stride = OC_KEY_BLOCK};
    for (size_t first = 0; first < count; first += cols) {
        gemm.w = keys + first / cols * block->key_panel;
        gemm.y = block->scores + first;
        gemm.outputs = least(cols, count - first);
        block->kernels->gemm(&gemm);
    }
    oc_attention_block_weigh(block, count);
    gemm = (oc_gemm){.rows = block->queries,
                     .depth = count,
                     .x = block->scores,
                     .x_row = OC_KEY_BLOCK,
                     .x_step = 1,
                     .w_step = block->value_width,
                     .y_stride = block->head_dim,
                     .add = true};
    for (size_t first = 0; first < block->head_dim; first += cols) {
        gemm.w = values + first;
        gemm.y = block->sums + first;
        gemm.outputs = least(cols, block->head_dim - first);
        block->kernels->gemm(&gemm);
    }
}

void oc_attention_block_end(const oc_attention_block *block, size_t q, float *out)
{
    float total = block->total[q];
    memcpy(out, block->sums + q * block->head_dim, block->head_dim * sizeof *out);
    block->kernels->scale(out, total == 0.0f ? 0.0f : 1.0f / total, block->head_dim);
}
