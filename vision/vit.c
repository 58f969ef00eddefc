/* vit.c - the tower's forward pass, straight: see vit.h for what goes in and comes out.
 *
 * Rows are worked on in chunks of CHUNK_ROWS wherever a step is row-wise, so that only x, qkv and the
 * attention's output are as long as the picture; the bits do not depend on the chunk. */
#include "vision/vit.h"

#include "runtime/base/memory.h"
#include "runtime/kernels/attention.h"
#include "runtime/kernels/linear.h"
#include "runtime/kernels/operations.h"
#include "vision/vit_positions.h"
#include "vision/vit_weights.h"

#include <math.h>
#include <stdio.h>

/* 1024 rows of the widest intermediate of the 32B tower are 18 MB: the second-level cache is missed
 * either way, and a product with so many rows is bound by arithmetic. */
enum { CHUNK_ROWS = 1024 };

/* The reference fixes it in code, not in the config. */
static const float LAYER_NORM_EPS = 1e-6f;

/* Everything one encode works on. */
typedef struct pass {
    const oc_vit *vit;
    const oc_vit_config *config;
    const oc_compute *compute;
    oc_arena *arena;
    size_t grid_h, grid_w, count; /* patches */
    float *x;                     /* [count, hidden] */
    float *qkv;                   /* [count, 3 * hidden] */
    float *attended;              /* [count, hidden] */
    float *cosine, *sine;         /* [count, head_dim / 2] */
} pass;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* out [rows, weight->rows] = x Wt + bias. */
static void multiply(const pass *p, const oc_matrix *weight, const float *bias, const float *x,
                     size_t rows, size_t stride, float *out)
{
    size_t mark = oc_arena_mark(p->arena);
    oc_activations activations;
    oc_activations_prepare(&activations, p->compute, p->arena, weight->format, x, rows,
                           weight->cols, stride);
    oc_linear(p->compute, p->arena, weight, bias, &activations, out, weight->rows);
    oc_arena_release(p->arena, mark);
}

static bool is_dry(const pass *p)
{
    return p->arena->dry;
}

static void tell(const oc_trace *trace, const char *name, const pass *p)
{
    if (trace != NULL && trace->fn != NULL && !is_dry(p)) {
        trace->fn(trace->user, name, p->x, p->count, p->config->hidden);
    }
}

/* x = patches Wt + b. Patches that the caller did not cut are cut here, into the memory that qkv will
 * use next. */
static void embed_patches(pass *p, const oc_vit_input *input)
{
    const oc_patch_rule *rule = &p->config->patch;
    size_t patch_values = oc_vit_patch_values(p->config);
    const float *patches = input->patches;
    size_t mark = oc_arena_mark(p->arena);
    if (patches == NULL) {
        float *cut = oc_arena_take(p->arena, p->count * patch_values, sizeof *cut);
        if (cut != NULL) {
            oc_patches_cut(cut, rule, input->frames, (int)(p->grid_h * (size_t)rule->patch_size),
                           (int)(p->grid_w * (size_t)rule->patch_size));
        }
        patches = cut;
    }
    for (size_t first = 0; first < p->count; first += CHUNK_ROWS) {
        size_t rows = smaller(CHUNK_ROWS, p->count - first);
        multiply(p, &p->vit->patch_embed, p->vit->patch_bias,
                 is_dry(p) ? NULL : patches + first * patch_values, rows, patch_values,
                 is_dry(p) ? NULL : p->x + first * p->config->hidden);
    }
    oc_arena_release(p->arena, mark);
}

static void fill_rope_tables(pass *p)
{
    size_t half = p->config->head_dim / 2;
    for (size_t i = 0; i < p->count; i++) {
        size_t row, column;
        float *cosine = p->cosine + i * half;
        float *sine = p->sine + i * half;
        oc_vit_patch_place(i, p->grid_w, (size_t)p->config->patch.merge_size, &row, &column);
        oc_vit_rope_angles(sine, row, column, p->config->head_dim);
        for (size_t j = 0; j < half; j++) {
            float angle = sine[j];
            cosine[j] = cosf(angle);
            sine[j] = sinf(angle);
        }
    }
}

/* x += proj(attention(norm1(x))) */
static void attend(pass *p, const oc_vit_block *block)
{
    size_t hidden = p->config->hidden;
    size_t mark = oc_arena_mark(p->arena);
    float *y = oc_arena_take(p->arena, smaller(CHUNK_ROWS, p->count) * hidden, sizeof *y);
    for (size_t first = 0; first < p->count; first += CHUNK_ROWS) {
        size_t rows = smaller(CHUNK_ROWS, p->count - first);
        float *qkv = is_dry(p) ? NULL : p->qkv + first * 3 * hidden;
        if (!is_dry(p)) {
            oc_layer_norm(p->compute, y, p->x + first * hidden, block->norm1_weight,
                          block->norm1_bias, rows, hidden, LAYER_NORM_EPS);
        }
        multiply(p, &block->qkv, block->qkv_bias, y, rows, hidden, qkv);
    }
    if (!is_dry(p)) {
        size_t half = p->config->head_dim / 2;
        oc_rope(p->compute, p->qkv, p->count, 3 * hidden, p->config->heads, half, p->cosine,
                p->sine);
        oc_rope(p->compute, p->qkv + hidden, p->count, 3 * hidden, p->config->heads, half,
                p->cosine, p->sine);
    }
    oc_attention_full(p->compute, p->arena,
                      &(oc_attention_full_job){.query = p->qkv,
                                               .key = is_dry(p) ? NULL : p->qkv + hidden,
                                               .value = is_dry(p) ? NULL : p->qkv + 2 * hidden,
                                               .out = p->attended,
                                               .stride = 3 * hidden,
                                               .out_stride = hidden,
                                               .rows = p->count,
                                               .heads = p->config->heads,
                                               .head_dim = p->config->head_dim,
                                               .scale = 1.0f / sqrtf((float)p->config->head_dim)});
    for (size_t first = 0; first < p->count; first += CHUNK_ROWS) {
        size_t rows = smaller(CHUNK_ROWS, p->count - first);
        multiply(p, &block->projection, block->projection_bias,
                 is_dry(p) ? NULL : p->attended + first * hidden, rows, hidden, y);
        if (!is_dry(p)) {
            oc_add(p->compute, p->x + first * hidden, y, rows * hidden);
        }
    }
    oc_arena_release(p->arena, mark);
}

/* x += fc2(gelu_tanh(fc1(norm2(x)))) */
static void feed_forward(pass *p, const oc_vit_block *block)
{
    size_t hidden = p->config->hidden;
    size_t most = smaller(CHUNK_ROWS, p->count);
    size_t mark = oc_arena_mark(p->arena);
    float *y = oc_arena_take(p->arena, most * hidden, sizeof *y);
    float *wide = oc_arena_take(p->arena, most * p->config->intermediate, sizeof *wide);
    for (size_t first = 0; first < p->count; first += CHUNK_ROWS) {
        size_t rows = smaller(CHUNK_ROWS, p->count - first);
        float *x = is_dry(p) ? NULL : p->x + first * hidden;
        if (!is_dry(p)) {
            oc_layer_norm(p->compute, y, x, block->norm2_weight, block->norm2_bias, rows, hidden,
                          LAYER_NORM_EPS);
        }
        multiply(p, &block->fc1, block->fc1_bias, y, rows, hidden, wide);
        if (!is_dry(p)) {
            oc_gelu_tanh(p->compute, wide, wide, rows * p->config->intermediate);
        }
        multiply(p, &block->fc2, block->fc2_bias, wide, rows, p->config->intermediate, y);
        if (!is_dry(p)) {
            oc_add(p->compute, x, y, rows * hidden);
        }
    }
    oc_arena_release(p->arena, mark);
}

/* merge^2 rows of x become one of out [tokens, out_hidden]. The concatenation is a reshape, since rows
 * come block by block. The main merger norms each row, a deepstack merger the concatenation. */
static void merge(pass *p, const oc_vit_merger *merger, bool norm_after_concat, float *out)
{
    size_t merge_rows = (size_t)(p->config->patch.merge_size * p->config->patch.merge_size);
    size_t wide = p->config->hidden * merge_rows;
    size_t tokens = p->count / merge_rows;
    size_t most = smaller(CHUNK_ROWS, tokens);
    size_t mark = oc_arena_mark(p->arena);
    float *y = oc_arena_take(p->arena, most * wide, sizeof *y);
    float *z = oc_arena_take(p->arena, most * wide, sizeof *z);
    for (size_t first = 0; first < tokens; first += CHUNK_ROWS) {
        size_t rows = smaller(CHUNK_ROWS, tokens - first);
        if (!is_dry(p)) {
            size_t norm_rows = norm_after_concat ? rows : rows * merge_rows;
            size_t norm_width = norm_after_concat ? wide : p->config->hidden;
            oc_layer_norm(p->compute, y, p->x + first * wide, merger->norm_weight,
                          merger->norm_bias, norm_rows, norm_width, LAYER_NORM_EPS);
        }
        multiply(p, &merger->fc1, merger->fc1_bias, y, rows, wide, z);
        if (!is_dry(p)) {
            oc_gelu_erf(p->compute, z, z, rows * wide);
        }
        multiply(p, &merger->fc2, merger->fc2_bias, z, rows, wide,
                 is_dry(p) ? NULL : out + first * p->config->out_hidden);
    }
    oc_arena_release(p->arena, mark);
}

/* The pass itself; with a dry arena it only counts. */
static void run(pass *p, const oc_vit_input *input, float *rows, float *taps, size_t tap_stride,
                const oc_trace *trace)
{
    const oc_vit_config *config = p->config;
    size_t half = config->head_dim / 2;
    char name[32];
    p->x = oc_arena_take(p->arena, p->count * config->hidden, sizeof *p->x);
    embed_patches(p, input);
    tell(trace, "patch_embed", p);
    p->cosine = oc_arena_take(p->arena, p->count * half, sizeof *p->cosine);
    p->sine = oc_arena_take(p->arena, p->count * half, sizeof *p->sine);
    p->qkv = oc_arena_take(p->arena, p->count * 3 * config->hidden, sizeof *p->qkv);
    p->attended = oc_arena_take(p->arena, p->count * config->hidden, sizeof *p->attended);
    if (p->arena->overflow) {
        return;
    }
    if (!is_dry(p)) {
        oc_vit_add_positions(p->x, 0, p->count, p->vit->positions.data, config->position_side,
                             config->hidden, p->grid_h, p->grid_w,
                             (size_t)config->patch.merge_size);
        fill_rope_tables(p);
    }
    tell(trace, "after_pos", p);
    for (size_t i = 0; i < config->layers; i++) {
        attend(p, &p->vit->blocks[i]);
        feed_forward(p, &p->vit->blocks[i]);
        snprintf(name, sizeof name, "block_%zu", i);
        tell(trace, name, p);
        for (size_t t = 0; t < config->tap_count; t++) {
            if (config->taps[t] == i) {
                merge(p, &p->vit->tap_mergers[t], true, is_dry(p) ? NULL : taps + t * tap_stride);
            }
        }
    }
    merge(p, &p->vit->merger, false, rows);
}

bool oc_vit_scratch(const oc_vit *vit, const oc_compute *compute, size_t grid_h, size_t grid_w,
                    size_t *bytes)
{
    oc_arena arena = oc_arena_dry();
    pass p = {.vit = vit,
              .config = &vit->config,
              .compute = compute,
              .arena = &arena,
              .grid_h = grid_h,
              .grid_w = grid_w};
    size_t most_values;
    /* With this product in range, so is every count the pass multiplies out. */
    if (!oc_size_mul(grid_h, grid_w, &p.count) ||
        !oc_size_mul(p.count, oc_vit_widest_row(&vit->config), &most_values)) {
        return false;
    }
    run(&p, &(oc_vit_input){.grid_h = grid_h, .grid_w = grid_w}, NULL, NULL, 0, NULL);
    *bytes = arena.peak;
    return !arena.overflow;
}

ocelli_status oc_vit_encode(const oc_vit *vit, const oc_compute *compute, oc_arena *arena,
                            const oc_vit_input *input, float *rows, float *taps, size_t tap_stride,
                            const oc_trace *trace, ocelli_error *err)
{
    size_t merge_size = (size_t)vit->config.patch.merge_size;
    if (input->grid_h == 0 || input->grid_w == 0 || input->grid_h % merge_size != 0 ||
        input->grid_w % merge_size != 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "a grid of %zu x %zu patches is not whole %zu x %zu blocks", input->grid_h,
                       input->grid_w, merge_size, merge_size);
    }
    pass p = {.vit = vit,
              .config = &vit->config,
              .compute = compute,
              .arena = arena,
              .grid_h = input->grid_h,
              .grid_w = input->grid_w,
              .count = input->grid_h * input->grid_w};
    size_t mark = oc_arena_mark(arena);
    run(&p, input, rows, taps, tap_stride, trace);
    oc_arena_release(arena, mark);
    if (arena->overflow) {
        return oc_fail(err, OCELLI_E_INTERNAL,
                       "the vision tower needs more scratch than was planned");
    }
    return OCELLI_OK;
}
