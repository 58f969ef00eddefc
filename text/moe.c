/* moe.c - see moe.h.
 *
 * Rows are gathered expert by expert, so that each expert's weights are read once for all its rows. */
#include "text/moe.h"

#include "runtime/kernels/linear.h"
#include "runtime/kernels/operations.h"

#include <string.h>

typedef struct choice {
    uint32_t expert;
    float weight;
} choice;

/* The k largest of probability [experts] in descending order; the lower number wins a tie. Weights
 * are divided by their sum: the reference always does, norm_topk_prob is not read. */
static void choose(choice *out, const float *probability, size_t experts, size_t k)
{
    size_t held = 0;
    for (size_t e = 0; e < experts; e++) {
        size_t place = held;
        while (place > 0 && probability[e] > out[place - 1].weight) {
            place--;
        }
        if (place == k) {
            continue;
        }
        if (held < k) {
            held++;
        }
        memmove(&out[place + 1], &out[place], (held - 1 - place) * sizeof *out);
        out[place] = (choice){.expert = (uint32_t)e, .weight = probability[e]};
    }
    float sum = 0.0f;
    for (size_t i = 0; i < k; i++) {
        sum += out[i].weight;
    }
    for (size_t i = 0; i < k; i++) {
        out[i].weight /= sum;
    }
}

static void multiply(const oc_compute *compute, oc_arena *arena, const oc_matrix *weight,
                     const oc_activations *x, float *y)
{
    oc_linear(compute, arena, weight, NULL, x, y, weight->rows);
}

/* z [count, hidden] = down(silu(gate(y)) * up(y)) of one expert. */
static void run_expert(const oc_expert *expert, const oc_compute *compute, oc_arena *arena,
                       const float *y, size_t count, float *gate, float *up, float *z)
{
    oc_activations activations;
    size_t mark = oc_arena_mark(arena);
    oc_activations_prepare(&activations, compute, arena, expert->gate.format, y, count,
                           expert->gate.cols, expert->gate.cols);
    multiply(compute, arena, &expert->gate, &activations, gate);
    multiply(compute, arena, &expert->up, &activations, up);
    oc_arena_release(arena, mark);
    if (!arena->dry) {
        oc_silu_mul(compute, gate, gate, up, count * expert->gate.rows);
    }
    oc_activations_prepare(&activations, compute, arena, expert->down.format, gate, count,
                           expert->down.cols, expert->down.cols);
    multiply(compute, arena, &expert->down, &activations, z);
    oc_arena_release(arena, mark);
}

/* probability [rows, experts], before the softmax. Row by row: a float32 product of many rows may go to
 * a library that sums in another order, and a row must choose its experts whatever stands beside it. */
static void route(const oc_decoder_layer *layer, const oc_compute *compute, oc_arena *arena,
                  float *probability, const float *y, size_t rows, size_t hidden)
{
    size_t mark = oc_arena_mark(arena);
    for (size_t r = 0; r < rows; r++) {
        oc_activations activations;
        oc_activations_prepare(&activations, compute, arena, layer->router.format,
                               arena->dry ? NULL : y + r * hidden, 1, hidden, hidden);
        multiply(compute, arena, &layer->router, &activations,
                 arena->dry ? NULL : probability + r * layer->router.rows);
        oc_arena_release(arena, mark);
    }
}

void oc_moe_add(const oc_decoder_config *config, const oc_decoder_layer *layer,
                const oc_compute *compute, oc_arena *arena, float *x, const float *y, size_t rows)
{
    size_t hidden = config->hidden, wide = config->expert_intermediate;
    size_t k = config->experts_per_token;
    size_t mark = oc_arena_mark(arena);
    float *probability = oc_arena_take(arena, rows * config->experts, sizeof *probability);
    choice *choices = oc_arena_take(arena, rows * k, sizeof *choices); /* [rows, k] */
    uint32_t *members = oc_arena_take(arena, rows, sizeof *members);   /* rows of one expert */
    float *shares = oc_arena_take(arena, rows, sizeof *shares);        /* their weights */
    float *gathered = oc_arena_take(arena, rows * hidden, sizeof *gathered);
    float *gate = oc_arena_take(arena, rows * wide, sizeof *gate);
    float *up = oc_arena_take(arena, rows * wide, sizeof *up);
    float *z = oc_arena_take(arena, rows * hidden, sizeof *z);
    route(layer, compute, arena, probability, y, rows, hidden);
    if (arena->dry || arena->overflow) {
        run_expert(&layer->experts[0], compute, arena, gathered, rows, gate, up, z);
        oc_arena_release(arena, mark);
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        oc_softmax(compute, probability + r * config->experts, config->experts);
        choose(choices + r * k, probability + r * config->experts, config->experts, k);
    }
    for (size_t e = 0; e < config->experts; e++) {
        size_t count = 0;
        for (size_t i = 0; i < rows * k; i++) {
            if (choices[i].expert == e) {
                members[count] = (uint32_t)(i / k);
                shares[count] = choices[i].weight;
                memcpy(gathered + count * hidden, y + i / k * hidden, hidden * sizeof *y);
                count++;
            }
        }
        if (count == 0) {
            continue;
        }
        run_expert(&layer->experts[e], compute, arena, gathered, count, gate, up, z);
        for (size_t i = 0; i < count; i++) {
            float *row = x + members[i] * hidden;
            for (size_t j = 0; j < hidden; j++) {
                row[j] += shares[i] * z[i * hidden + j];
            }
        }
    }
    oc_arena_release(arena, mark);
}
