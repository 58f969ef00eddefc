/* decoder.c - the decoder's forward pass. What goes in and comes out is in decoder.h. */
#include "text/decoder.h"

#include "runtime/kernels/linear.h"
#include "runtime/kernels/operations.h"
#include "text/decoder_weights.h"
#include "text/moe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct pass {
    const oc_decoder *decoder;
    const oc_decoder_config *config;
    const oc_compute *compute;
    oc_arena *arena;
    const oc_row *rows;
    size_t count;
    float *x;                 /* [count, hidden]: the residual stream */
    float *normed;            /* [count, hidden]: what experts read; NULL without any */
    float *query;             /* [count, heads * head_dim] */
    float *key, *value;       /* [count, kv_heads * head_dim] */
    float *attended;          /* [count, heads * head_dim] */
    float *gate, *up;         /* [count, intermediate] */
    float *cosine, *sine;     /* [count, head_dim / 2] */
    oc_attention_row *lookup; /* [count] */
    const oc_decoder_trace *trace;
} pass;

static bool is_dry(const pass *p)
{
    return p->arena->dry;
}

static void prepare(const pass *p, oc_activations *out, const oc_matrix *weight, const float *x)
{
    oc_activations_prepare(out, p->compute, p->arena, weight->format, x, p->count, weight->cols,
                           weight->cols);
}

/* RMSNorm(residual stream), as matrices like weight take it. */
static void prepare_normed(const pass *p, oc_activations *out, const oc_matrix *weight,
                           const float *norm)
{
    oc_activations_prepare_normed(out, p->compute, p->arena, weight->format,
                                  &(oc_norm){.weight = norm, .eps = p->config->rms_norm_eps}, p->x,
                                  p->count, weight->cols);
}

/* residual stream += x Wt + bias */
static void add_product(const pass *p, const oc_matrix *weight, const float *bias,
                        const oc_activations *x)
{
    oc_linear_into(
        p->compute, p->arena, weight, x,
        &(oc_linear_output){.bias = bias, .add = true, .y = p->x, .y_stride = p->config->hidden});
}

static void take_scratch(pass *p)
{
    const oc_decoder_config *config = p->config;
    size_t queries = config->heads * config->head_dim, keys = config->kv_heads * config->head_dim;
    size_t half = config->head_dim / 2;
    p->x = oc_arena_take(p->arena, p->count * config->hidden, sizeof(float));
    if (config->experts > 0) {
        p->normed = oc_arena_take(p->arena, p->count * config->hidden, sizeof(float));
    }
    p->query = oc_arena_take(p->arena, p->count * queries, sizeof(float));
    p->key = oc_arena_take(p->arena, p->count * keys, sizeof(float));
    p->value = oc_arena_take(p->arena, p->count * keys, sizeof(float));
    p->attended = oc_arena_take(p->arena, p->count * queries, sizeof(float));
    p->gate = oc_arena_take(p->arena, p->count * config->intermediate, sizeof(float));
    p->up = oc_arena_take(p->arena, p->count * config->intermediate, sizeof(float));
    p->cosine = oc_arena_take(p->arena, p->count * half, sizeof(float));
    p->sine = oc_arena_take(p->arena, p->count * half, sizeof(float));
    p->lookup = oc_arena_take(p->arena, p->count, sizeof *p->lookup);
}

static void read_inputs(pass *p)
{
    size_t half = p->config->head_dim / 2;
    for (size_t r = 0; r < p->count; r++) {
        memcpy(p->x + r * p->config->hidden, p->rows[r].input, p->config->hidden * sizeof *p->x);
        oc_mrope_fill(p->cosine + r * half, p->sine + r * half, p->decoder->inverse,
                      p->decoder->axis, half, p->rows[r].position);
    }
}

/* Rows of keys and values that a worker stores at a time. */
enum { STORE_ROWS = 8 };

typedef struct store_job {
    const pass *pass;
    size_t layer;
} store_job;

/* Whether row r's slot is the odd one beside that of row r - 1. In bfloat16 a value at an even slot is
 * stored with a zero beside it, so one worker stores both, in order. */
static bool is_second_of_pair(const oc_row *rows, size_t r)
{
    return r > 0 && rows[r].cache == rows[r - 1].cache && rows[r].slot == rows[r - 1].slot + 1 &&
           rows[r].slot % OC_BF16_STEP != 0;
}

static void store_rows(void *user, size_t begin, size_t end, int worker)
{
    const store_job *job = user;
    const pass *p = job->pass;
    const oc_decoder_config *config = p->config;
    size_t hd = config->head_dim, queries = config->heads * hd, keys = config->kv_heads * hd;
    (void)worker;
    begin += begin < end && is_second_of_pair(p->rows, begin);
    end += end < p->count && is_second_of_pair(p->rows, end);
    for (size_t r = begin; r < end; r++) {
        const oc_row *row = &p->rows[r];
        oc_kv_layer cache = oc_kv_view(row->cache, job->layer);
        if (!row->filled) {
            oc_kv_store(p->compute, &cache, row->slot, config->kv_heads, hd, p->key + r * keys,
                        p->value + r * keys);
        }
        p->lookup[r] = (oc_attention_row){.query = p->query + r * queries,
                                          .out = p->attended + r * queries,
                                          .cache = cache,
                                          .length = row->slot + 1};
    }
}

/* Norm per head, unless plain_heads, then rotary, on q and k; keys and values go into the caches,
 * every row of the forward before any of them is attended to. */
static void place_keys(pass *p, const oc_decoder_layer *layer, size_t index)
{
    const oc_decoder_config *config = p->config;
    size_t hd = config->head_dim, half = hd / 2;
    size_t queries = config->heads * hd, keys = config->kv_heads * hd;
    if (!config->plain_heads) {
        oc_rms_norm(p->compute, p->query, p->query, layer->query_norm, p->count * config->heads, hd,
                    hd, config->rms_norm_eps);
        oc_rms_norm(p->compute, p->key, p->key, layer->key_norm, p->count * config->kv_heads, hd,
                    hd, config->rms_norm_eps);
    }
    oc_rope(p->compute, p->query, p->count, queries, config->heads, half, p->cosine, p->sine);
    oc_rope(p->compute, p->key, p->count, keys, config->kv_heads, half, p->cosine, p->sine);
    size_t chunk = p->count < 16 * STORE_ROWS ? STORE_ROWS : 4 * STORE_ROWS;
    oc_pool_run(p->count > STORE_ROWS ? p->compute->pool : NULL, p->count, chunk, store_rows,
                &(store_job){.pass = p, .layer = index});
}

/* x += o(attention(q, k, v of norm(x))) */
static void attend(pass *p, const oc_decoder_layer *layer, size_t index)
{
    const oc_decoder_config *config = p->config;
    oc_activations activations;
    size_t mark = oc_arena_mark(p->arena);
    prepare_normed(p, &activations, &layer->query, layer->input_norm);
    const oc_linear_part inputs[] = {
        {&layer->query, layer->query_bias, p->query, layer->query.rows},
        {&layer->key, layer->key_bias, p->key, layer->key.rows},
        {&layer->value, layer->value_bias, p->value, layer->value.rows}};
    oc_linear_several(p->compute, p->arena, inputs, 3, &activations);
    oc_arena_release(p->arena, mark);
    if (!is_dry(p)) {
        place_keys(p, layer, index);
        if (p->trace != NULL && p->trace->attention != NULL) {
            p->trace->attention(p->trace->user, index, p->lookup, p->count);
        }
    }
    oc_attention_cached(p->compute, p->arena, p->lookup, p->count, config->heads, config->kv_heads,
                        config->head_dim, 1.0f / sqrtf((float)config->head_dim));
    oc_arena_release(p->arena, mark);
    prepare(p, &activations, &layer->output, p->attended);
    add_product(p, &layer->output, layer->output_bias, &activations);
    oc_arena_release(p->arena, mark);
}

/* x += down(silu(gate(norm(x))) * up(norm(x))); or the experts. */
static void feed_forward(pass *p, const oc_decoder_layer *layer)
{
    const oc_decoder_config *config = p->config;
    oc_activations activations;
    size_t mark = oc_arena_mark(p->arena);
    if (layer->experts != NULL) {
        if (!is_dry(p)) {
            oc_rms_norm(p->compute, p->normed, p->x, layer->post_norm, p->count, config->hidden,
                        config->hidden, config->rms_norm_eps);
        }
        oc_moe_add(config, layer, p->compute, p->arena, p->x, p->normed, p->count);
        return;
    }
    prepare_normed(p, &activations, &layer->gate, layer->post_norm);
    const oc_linear_part wide[] = {{&layer->gate, NULL, p->gate, layer->gate.rows},
                                   {&layer->up, NULL, p->up, layer->up.rows}};
    oc_linear_several(p->compute, p->arena, wide, 2, &activations);
    oc_arena_release(p->arena, mark);
    if (!is_dry(p)) {
        oc_silu_mul(p->compute, p->gate, p->gate, p->up, p->count * config->intermediate);
    }
    prepare(p, &activations, &layer->down, p->gate);
    add_product(p, &layer->down, NULL, &activations);
    oc_arena_release(p->arena, mark);
}

/* Deepstack: tap i is added after decoder layer i, at visual rows only. */
static void add_tap(pass *p, size_t tap)
{
    for (size_t r = 0; r < p->count; r++) {
        if (p->rows[r].taps != NULL) {
            const float *row = p->rows[r].taps + tap * p->rows[r].tap_stride;
            float *x = p->x + r * p->config->hidden;
            for (size_t j = 0; j < p->config->hidden; j++) {
                x[j] += row[j];
            }
        }
    }
}

/* Norm and head for the rows that want logits, OC_HEAD_ROWS at a time. */
static void write_logits(pass *p, size_t wanted)
{
    const float *from[OC_HEAD_ROWS];
    float *to[OC_HEAD_ROWS];
    size_t next = 0;
    for (size_t done = 0; done < wanted; done += OC_HEAD_ROWS) {
        size_t held = wanted - done < OC_HEAD_ROWS ? wanted - done : OC_HEAD_ROWS;
        for (size_t i = 0; !is_dry(p) && i < held; next++) {
            if (p->rows[next].logits != NULL) {
                from[i] = p->x + next * p->config->hidden;
                to[i++] = p->rows[next].logits;
            }
        }
        oc_head_run(&p->decoder->head, p->compute, p->arena, from, to, held);
    }
}

/* The pass itself; with a dry arena it only counts. */
static void run(pass *p, size_t taps, size_t wanted)
{
    take_scratch(p);
    if (p->arena->overflow) {
        return;
    }
    if (!is_dry(p)) {
        read_inputs(p);
    }
    for (size_t i = 0; i < p->config->layers; i++) {
        attend(p, &p->decoder->layers[i], i);
        feed_forward(p, &p->decoder->layers[i]);
        if (!is_dry(p) && i < taps) {
            add_tap(p, i);
        }
        if (!is_dry(p) && p->trace != NULL && p->trace->fn != NULL) {
            char name[32];
            snprintf(name, sizeof name, "layer_%zu", i);
            p->trace->fn(p->trace->user, name, p->x, p->count, p->config->hidden);
        }
    }
    if (wanted > 0) {
        write_logits(p, wanted);
    }
}

bool oc_decoder_scratch(const oc_decoder *decoder, const oc_compute *compute, size_t rows,
                        size_t logits, size_t *bytes)
{
    oc_arena arena = oc_arena_dry();
    pass p = {.decoder = decoder,
              .config = &decoder->config,
              .compute = compute,
              .arena = &arena,
              .count = rows};
    run(&p, 0, logits);
    *bytes = arena.peak;
    return !arena.overflow;
}

ocelli_status oc_decoder_forward(const oc_decoder *decoder, const oc_compute *compute,
                                 oc_arena *arena, const oc_row *rows, size_t count, size_t taps,
                                 const oc_decoder_trace *trace, ocelli_error *err)
{
    pass p = {.decoder = decoder,
              .config = &decoder->config,
              .compute = compute,
              .arena = arena,
              .rows = rows,
              .count = count,
              .trace = trace};
    size_t wanted = 0;
    for (size_t r = 0; r < count; r++) {
        wanted += rows[r].logits != NULL;
        if (rows[r].slot >= oc_kv_capacity(rows[r].cache)) {
            return oc_fail(err, OCELLI_E_INTERNAL, "row %zu: slot %zu is beyond the kv cache", r,
                           rows[r].slot);
        }
    }
    size_t mark = oc_arena_mark(arena);
    run(&p, taps, wanted);
    oc_arena_release(arena, mark);
    if (arena->overflow) {
        return oc_fail(err, OCELLI_E_INTERNAL, "the decoder needs more scratch than was planned");
    }
    return OCELLI_OK;
}
