/* bench_work.c - see bench_work.h. */
#include "tools/bench_work.h"

#include <math.h>

/* ---- the tower ----------------------------------------------------------------------------- */

static double merger_weights(const ocelli_model_info *m)
{
    double merged = (double)(m->vision_hidden_size * m->merge_size * m->merge_size);
    return merged * merged + merged * (double)m->hidden_size;
}

static double block_weights(const ocelli_model_info *m)
{
    double width = (double)m->vision_hidden_size;
    double feed_forward = width * (double)m->vision_intermediate_size;
    return 4 * width * width + (m->vision_gated ? 3 : 2) * feed_forward;
}

/* Sum of the squares of the windows' extents along one side of the grid;
 * the last may be smaller. */
static double window_squares(double grid, double side)
{
    double whole = floor(grid / side), rest = grid - whole * side;
    return whole * side * side + rest * rest;
}

/* Pairs of patches that see each other, over all layers. */
static double patch_pairs(const ocelli_model_info *m, double grid_h, double grid_w)
{
    double side = (double)m->vision_window, inside = (double)m->vision_window_layers;
    double all = grid_h * grid_w * grid_h * grid_w;
    double pairs = ((double)m->vision_layers - inside) * all;
    if (side > 0) {
        pairs += inside * window_squares(grid_h, side) * window_squares(grid_w, side);
    }
    return pairs;
}

static double patch_weights(const ocelli_model_info *m)
{
    return (double)(m->channels * m->temporal_patch_size * m->patch_size * m->patch_size *
                    m->vision_hidden_size);
}

bench_work bench_work_encode(const bench_model *model, double grid_h, double grid_w)
{
    const ocelli_model_info *m = &model->info;
    double patches = grid_h * grid_w;
    double tokens = patches / (double)(m->merge_size * m->merge_size);
    bench_work work;
    work.linear = 2 * patches * (patch_weights(m) + (double)m->vision_layers * block_weights(m)) +
                  2 * tokens * (double)(1 + m->vision_taps) * merger_weights(m);
    work.attention = 4 * patch_pairs(m, grid_h, grid_w) * (double)m->vision_hidden_size;
    work.bytes = (double)m->vision_bytes;
    return work;
}

/* ---- the decoder --------------------------------------------------------------------------- */

typedef struct decoder_weights {
    double dense;   /* that every token meets */
    double experts; /* of all experts */
} decoder_weights;

static decoder_weights weights_of(const ocelli_model_info *m)
{
    double hidden = (double)m->hidden_size;
    double heads = (double)(m->heads * m->head_dim), kv = (double)(m->kv_heads * m->head_dim);
    double sparse = (double)m->sparse_layers, all = (double)m->layers;
    decoder_weights out = {.dense = all * (2 * hidden * heads + 2 * hidden * kv)};
    out.dense += sparse * hidden * (double)m->experts;
    out.dense += (all - sparse) * 3 * hidden * (double)m->intermediate_size;
    out.experts = sparse * 3 * hidden * (double)m->expert_intermediate_size * (double)m->experts;
    return out;
}

static double expert_share(const ocelli_model_info *m)
{
    return m->experts > 0 ? (double)m->experts_per_token / (double)m->experts : 0;
}

/* Of one token, the head's left out. */
static double linear_of_token(const ocelli_model_info *m)
{
    decoder_weights weights = weights_of(m);
    return 2 * (weights.dense + weights.experts * expert_share(m));
}

static double linear_of_head(const ocelli_model_info *m)
{
    return 2 * (double)m->vocab_size * (double)m->hidden_size;
}

/* The decoder's bytes that so many tokens meet, if each chooses its experts evenly. */
static double bytes_of_tokens(const bench_model *model, double tokens)
{
    const ocelli_model_info *m = &model->info;
    decoder_weights weights = weights_of(m);
    double met = 1 - pow(1 - expert_share(m), tokens);
    double share = (weights.dense + weights.experts * met) / (weights.dense + weights.experts);
    return (double)m->decoder_bytes * share;
}

static double attention_of(const ocelli_model_info *m, double pairs)
{
    return 4 * pairs * (double)(m->heads * m->head_dim) * (double)m->layers;
}

bench_work bench_work_prefill(const bench_model *model, double tokens)
{
    const ocelli_model_info *m = &model->info;
    bench_work work;
    work.linear = tokens * linear_of_token(m) + linear_of_head(m);
    work.attention = attention_of(m, tokens * (tokens + 1) / 2);
    work.bytes =
        bytes_of_tokens(model, tokens) + (double)m->head_bytes + tokens * model->cache_bytes;
    return work;
}

bench_work bench_work_decode(const bench_model *model, double sessions, double context)
{
    const ocelli_model_info *m = &model->info;
    bench_work work;
    work.linear = sessions * (linear_of_token(m) + linear_of_head(m));
    work.attention = attention_of(m, sessions * context);
    work.bytes = bytes_of_tokens(model, sessions) + (double)m->head_bytes +
                 sessions * context * model->cache_bytes;
    return work;
}

/* ---- limits -------------------------------------------------------------------------------- */

void bench_work_add(bench_work *a, const bench_work *b, double times)
{
    a->linear += times * b->linear;
    a->attention += times * b->attention;
    a->bytes += times * b->bytes;
}

bench_work bench_work_answer(const bench_model *model, double sessions, double prompt,
                             double new_tokens)
{
    bench_work work = {0, 0, 0};
    for (double i = 1; i < new_tokens; i++) {
        bench_work token = bench_work_decode(model, sessions, prompt + i);
        bench_work_add(&work, &token, 1);
    }
    return work;
}

/* The peaks that products with weights, and with queries and keys, are held against. */
typedef struct peaks {
    double linear, attention;
} peaks;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Bits of the numbers that are multiplied: 32, 16 or 8. */
static double peak_of(const ocelli_machine *machine, int bits)
{
    double best = machine->f32_operations_per_second;
    if (bits <= 16) {
        best = larger(best, machine->bf16_operations_per_second);
    }
    return bits <= 8 ? larger(best, machine->int8_operations_per_second) : best;
}

static peaks peaks_of(const ocelli_machine *machine, int linear_bits)
{
    return (peaks){peak_of(machine, linear_bits), peak_of(machine, linear_bits > 16 ? 32 : 16)};
}

static int vision_bits(const ocelli_model_info *m)
{
    return m->vision == OCELLI_VISION_F32 ? 32 : m->vision == OCELLI_VISION_Q8 ? 8 : 16;
}

static int text_bits(const ocelli_model_info *m)
{
    return m->quant == OCELLI_QUANT_F32 ? 32 : m->quant == OCELLI_QUANT_F16 ? 16 : 8;
}

static double seconds_of(const bench_work *work, const ocelli_machine *machine, int bits)
{
    peaks peak = peaks_of(machine, bits);
    return larger(work->linear / peak.linear + work->attention / peak.attention,
                  work->bytes / machine->read_bytes_per_second);
}

double bench_limit_seconds(const bench_model *model, const ocelli_machine *machine,
                           const bench_work *vision, const bench_work *prompt,
                           const bench_work *answer)
{
    int text = text_bits(&model->info);
    return seconds_of(vision, machine, vision_bits(&model->info)) +
           seconds_of(prompt, machine, text) + seconds_of(answer, machine, text);
}

void bench_limit_apply(bench_row *row, const bench_model *model, const ocelli_machine *machine)
{
    double seconds = bench_limit_seconds(model, machine, &row->vision, &row->prompt, &row->answer);
    row->limit = row->unit == BENCH_RATE ? row->amount / seconds : seconds;
    row->share = row->unit == BENCH_RATE ? row->median / row->limit : row->limit / row->median;
}
