/* attention_weights.c - see attention_weights.h. Not fast code: a page's keys are widened, then each
 * head multiplies them slot by slot. */
#include "text/attention_weights.h"

#include "runtime/base/memory.h"
#include "runtime/kernels/half.h"

#include <math.h>
#include <string.h>

typedef struct weights_job {
    const oc_attention_shape *shape;
    const oc_attention_row *row;
    float *keys;   /* [kv_heads, head_dim, OC_KV_PAGE_SLOTS] */
    float *scores; /* [heads, length]; softmax of them at the end */
} weights_job;

bool oc_attention_weights_scratch(const oc_attention_shape *shape, size_t length, size_t *floats)
{
    size_t keys, scores;
    return oc_size_mul(shape->kv_heads * OC_KV_PAGE_SLOTS, shape->head_dim, &keys) &&
           oc_size_mul(shape->heads, length, &scores) && oc_size_add(keys, scores, floats);
}

/* The keys of one head of a page, to [head_dim, OC_KV_PAGE_SLOTS]. */
static void widen_keys(float *out, const oc_kv_layer *cache, size_t page, size_t kv_head,
                       size_t head_dim)
{
    const unsigned char *stored =
        cache->pages[page] + cache->key_offset + kv_head * cache->head_stride;
    if (cache->format == OC_FORMAT_F32) {
        memcpy(out, stored, head_dim * OC_KV_PAGE_SLOTS * sizeof *out);
        return;
    }
    for (size_t d = 0; d < head_dim; d++) {
        for (size_t lane = 0; lane < OC_KV_PAGE_SLOTS; lane++) {
            bool wide = cache->format == OC_FORMAT_BF16;
            uint16_t half;
            size_t at = wide ? oc_kv_key_at(lane, d) : (d * OC_KV_PAGE_SLOTS + lane) * sizeof half;
            memcpy(&half, stored + at, sizeof half);
            out[d * OC_KV_PAGE_SLOTS + lane] = wide ? oc_bf16_widen(half) : oc_f16_widen(half);
        }
    }
}

/* Scores of count slots of a page for one query head. keys [head_dim, OC_KV_PAGE_SLOTS]. */
static void score_page(float *out, const weights_job *job, const float *query, const float *keys,
                       size_t count)
{
    float sums[OC_KV_PAGE_SLOTS] = {0};
    for (size_t d = 0; d < job->shape->head_dim; d++) {
        bool rounded = job->row->cache.format == OC_FORMAT_BF16;
        float q = rounded ? oc_bf16_widen(oc_bf16_narrow(query[d])) : query[d];
        for (size_t lane = 0; lane < OC_KV_PAGE_SLOTS; lane++) {
            sums[lane] += q * keys[d * OC_KV_PAGE_SLOTS + lane];
        }
    }
    for (size_t lane = 0; lane < count; lane++) {
        out[lane] = sums[lane] * job->shape->scale;
    }
}

static void softmax(float *scores, size_t length)
{
    float highest = -INFINITY;
    double sum = 0;
    for (size_t i = 0; i < length; i++) {
        highest = scores[i] > highest ? scores[i] : highest;
    }
    for (size_t i = 0; i < length; i++) {
        scores[i] = expf(scores[i] - highest);
        sum += scores[i];
    }
    for (size_t i = 0; i < length; i++) {
        scores[i] = (float)(scores[i] / sum);
    }
}

static void weigh_heads(void *user, size_t begin, size_t end, int worker)
{
    const weights_job *job = user;
    const oc_attention_shape *shape = job->shape;
    size_t group = shape->heads / shape->kv_heads, length = job->row->length;
    (void)worker;
    for (size_t h = begin; h < end; h++) {
        float *keys = job->keys + h * shape->head_dim * OC_KV_PAGE_SLOTS;
        for (size_t first = 0; first < length; first += OC_KV_PAGE_SLOTS) {
            size_t left = length - first;
            size_t count = left < OC_KV_PAGE_SLOTS ? left : OC_KV_PAGE_SLOTS;
            widen_keys(keys, &job->row->cache, first / OC_KV_PAGE_SLOTS, h, shape->head_dim);
            for (size_t q = h * group; q < (h + 1) * group; q++) {
                score_page(job->scores + q * length + first, job,
                           job->row->query + q * shape->head_dim, keys, count);
            }
        }
        for (size_t q = h * group; q < (h + 1) * group; q++) {
            softmax(job->scores + q * length, length);
        }
    }
}

void oc_attention_weights(const oc_compute *compute, const oc_attention_shape *shape,
                          const oc_attention_row *row, float *scratch, float *weights)
{
    weights_job job = {.shape = shape,
                       .row = row,
                       .keys = scratch,
                       .scores = scratch + shape->kv_heads * shape->head_dim * OC_KV_PAGE_SLOTS};
    oc_pool_run(compute->pool, shape->kv_heads, 1, weigh_heads, &job);
    for (size_t i = 0; i < row->length; i++) {
        double sum = 0;
        for (size_t q = 0; q < shape->heads; q++) {
            sum += job.scores[q * row->length + i];
        }
        weights[i] = (float)(sum / (double)shape->heads);
    }
}
