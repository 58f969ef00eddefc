/* bench_work.c - see bench_work.h. */
#include "tools/bench_work.h"

#include <math.h>

/* ---- the tower ----------------------------------------------------------------------------- */

static double merger_weights(const model_shape *s)
{
    double merged = (double)(s->vision_hidden * s->merge * s->merge);
    return merged * merged + merged * (double)s->hidden;
}

static double block_weights(const model_shape *s)
{
    double width = (double)s->vision_hidden;
    return 4 * width * width + 2 * width * (double)s->vision_intermediate;
}

static double patch_weights(const model_shape *s)
{
    return (double)(s->channels * s->temporal * s->patch * s->patch * s->vision_hidden);
}

static double tower_weights(const model_shape *s)
{
    return patch_weights(s) + (double)s->vision_layers * block_weights(s) +
           (double)(1 + s->taps) * merger_weights(s) + (double)(s->positions * s->vision_hidden);
}

bench_work bench_work_encode(const bench_sizes *sizes, double grid_h, double grid_w)
{
    const model_shape *s = &sizes->shape;
    double patches = grid_h * grid_w;
    double tokens = patches / (double)(s->merge * s->merge);
    bench_work work;
    work.linear = 2 * patches * (patch_weights(s) + (double)s->vision_layers * block_weights(s)) +
                  2 * tokens * (double)(1 + s->taps) * merger_weights(s);
    work.attention = 4 * patches * patches * (double)s->vision_hidden * (double)s->vision_layers;
    work.bytes = (double)sizes->info.vision_bytes;
    return work;
}

/* ---- the decoder --------------------------------------------------------------------------- */

typedef struct decoder_weights {
    double dense;   /* that every token meets */
    double experts; /* of all experts */
} decoder_weights;

static decoder_weights weights_of(const model_shape *s)
{
    decoder_weights out = {0, 0};
    double hidden = (double)s->hidden;
    double heads = (double)(s->heads * s->head_dim), kv = (double)(s->kv_heads * s->head_dim);
    for (uint64_t i = 0; i < s->layers; i++) {
        out.dense += 2 * hidden * heads + 2 * hidden * kv;
        if (s->sparse[i]) {
            out.dense += hidden * (double)s->experts;
            out.experts += 3 * hidden * (double)s->expert_intermediate * (double)s->experts;
        } else {
            out.dense += 3 * hidden * (double)s->intermediate;
        }
    }
    return out;
}

static double expert_share(const model_shape *s)
{
    return s->experts > 0 ? (double)s->experts_per_token / (double)s->experts : 0;
}

/* Of one token, the head's left out. */
static double linear_of_token(const model_shape *s)
{
    decoder_weights weights = weights_of(s);
    return 2 * (weights.dense + weights.experts * expert_share(s));
}

static double linear_of_head(const model_shape *s)
{
    return 2 * (double)s->vocab * (double)s->hidden;
}

/* The decoder's bytes that so many tokens meet, if each chooses its experts evenly. */
static double bytes_of_tokens(const bench_sizes *sizes, double tokens)
{
    const model_shape *s = &sizes->shape;
    decoder_weights weights = weights_of(s);
    double met = 1 - pow(1 - expert_share(s), tokens);
    double share = (weights.dense + weights.experts * met) / (weights.dense + weights.experts);
    return (double)sizes->info.decoder_bytes * share;
}

static double attention_of(const model_shape *s, double pairs)
{
    return 4 * pairs * (double)(s->heads * s->head_dim) * (double)s->layers;
}

bench_work bench_work_prefill(const bench_sizes *sizes, double tokens)
{
    const model_shape *s = &sizes->shape;
    bench_work work;
    work.linear = tokens * linear_of_token(s) + linear_of_head(s);
    work.attention = attention_of(s, tokens * (tokens + 1) / 2);
    work.bytes = bytes_of_tokens(sizes, tokens) + (double)sizes->info.head_bytes +
                 tokens * sizes->cache_bytes;
    return work;
}

bench_work bench_work_decode(const bench_sizes *sizes, double sessions, double context)
{
    const model_shape *s = &sizes->shape;
    bench_work work;
    work.linear = sessions * (linear_of_token(s) + linear_of_head(s));
    work.attention = attention_of(s, sessions * context);
    work.bytes = bytes_of_tokens(sizes, sessions) + (double)sizes->info.head_bytes +
                 sessions * context * sizes->cache_bytes;
    return work;
}

/* ---- limits -------------------------------------------------------------------------------- */

void bench_work_add(bench_work *a, const bench_work *b, double times)
{
    a->linear += times * b->linear;
    a->attention += times * b->attention;
    a->bytes += times * b->bytes;
}

/* Operations a second with weights of so many bits. */
static double peak_of(const ocelli_machine *machine, double bits)
{
    double best = machine->f32_operations_per_second;
    if (bits < 24 && machine->bf16_operations_per_second > best) {
        best = machine->bf16_operations_per_second;
    }
    if (bits < 12 && machine->int8_operations_per_second > best) {
        best = machine->int8_operations_per_second;
    }
    return best;
}

static double seconds_of(const bench_work *work, const ocelli_machine *machine, double bits)
{
    double computing =
        work->linear / peak_of(machine, bits) + work->attention / peak_of(machine, 16);
    double reading = work->bytes / machine->read_bytes_per_second;
    return computing > reading ? computing : reading;
}

void bench_limits_apply(bench_rows *rows, const bench_sizes *sizes, const ocelli_machine *machine)
{
    decoder_weights weights = weights_of(&sizes->shape);
    double text_bits = 8 * (double)sizes->info.decoder_bytes / (weights.dense + weights.experts);
    double vision_bits = 8 * (double)sizes->info.vision_bytes / tower_weights(&sizes->shape);
    for (size_t i = 0; i < rows->count; i++) {
        bench_row *row = &rows->items[i];
        if (!row->limited) {
            continue;
        }
        double seconds = seconds_of(&row->vision, machine, vision_bits) +
                         seconds_of(&row->prompt, machine, text_bits) +
                         seconds_of(&row->answer, machine, text_bits);
        row->limit = row->unit == BENCH_RATE ? row->amount / seconds : seconds;
        row->share = row->unit == BENCH_RATE ? row->median / row->limit : row->limit / row->median;
    }
}
