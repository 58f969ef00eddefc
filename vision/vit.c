/* vit.c - the tower's forward pass, straight: see vit.h for what goes in and comes out.
 *
 * Rows are worked on in chunks wherever a step is row-wise, so that only x, qkv and the attention's
 * output are as long as the picture; the bits do not depend on the chunk. What lies between two
 * products is bfloat16 where the second one takes it so. */
#include "vision/vit.h"

#include "runtime/base/memory.h"
#include "runtime/kernels/attention.h"
#include "runtime/kernels/linear.h"
#include "runtime/kernels/operations.h"
#include "vision/vit_positions.h"
#include "vision/vit_weights.h"
#include "vision/vit_windows.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* At most so many rows in a chunk. 1024 rows of the widest intermediate of the 32B tower are 9 MB
 * in bfloat16: the second-level cache is missed either way, and a product with so many rows is
 * bound by arithmetic. Chunks are even, a multiple of ROW_STEP rows but the last. */
enum { CHUNK_ROWS = 1024, ROW_STEP = 32 };

/* The reference fixes it in code, not in the config. */
static const float NORM_EPS = 1e-6f;

/* Everything one encode works on. */
typedef struct pass {
    const oc_vit *vit;
    const oc_vit_config *config;
    const oc_compute *compute;
    oc_arena *arena;
    size_t grid_h, grid_w;     /* patches of a group */
    size_t groups, group_rows; /* rows of each: grid_h * grid_w */
    size_t count;              /* rows of all */
    float *x;                  /* [count, hidden]; with windows in their order */
    float *cosine, *sine;      /* [count, head_dim / 2]; rows as those of x */
    size_t cell_rows, cells;   /* merge^2 rows are a cell; count / cell_rows of them */
    /* NULL without windows; see vit_windows.h. One group after another. */
    size_t *order;                  /* [cells] */
    size_t *ends;                   /* [windows] */
    size_t windows, largest_window; /* of all groups; rows of the largest */
    /* One of each is used: bfloat16 or float32. */
    uint16_t *qkv_halves;      /* [count, 3 * hidden] */
    float *qkv;                /* [count, 3 * hidden] */
    uint16_t *attended_halves; /* [count, oc_halves_stride(hidden)] */
    float *attended;           /* [count, hidden] */
    bool attends_in_halves, keeps_attended_halves;
} pass;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Rows of a chunk when there are so many in all. */
static size_t chunk_rows(size_t count)
{
    size_t chunks = count / CHUNK_ROWS + (count % CHUNK_ROWS != 0);
    size_t rows = count / (chunks > 0 ? chunks : 1) + ROW_STEP;
    return smaller(rows - rows % ROW_STEP, CHUNK_ROWS);
}

/* base + offset; nothing on a dry run. */
static float *at(float *base, size_t offset)
{
    return base != NULL ? base + offset : NULL;
}

static uint16_t *at_half(uint16_t *base, size_t offset)
{
    return base != NULL ? base + offset : NULL;
}

/* Whether rows of cols values are handed to a product with weight in bfloat16. (An odd column would
 * need a zero behind it.) */
static bool takes_halves(const pass *p, const oc_matrix *weight)
{
    return oc_linear_takes_halves(p->compute, weight->format) && weight->cols % 2 == 0;
}

static bool is_dry(const pass *p)
{
    return p->arena->dry;
}

/* Between two blocks nothing is in qkv: room for the rows in another order. */
static float *spare_rows(const pass *p)
{
    return p->attends_in_halves ? (void *)p->qkv_halves : p->qkv;
}

/* x in the order of the patches: itself, or a copy in spare_rows. */
static float *rows_in_order(const pass *p)
{
    if (p->order == NULL) {
        return p->x;
    }
    float *rows = spare_rows(p);
    oc_vit_window_move(rows, p->x, p->order, p->cells, p->cell_rows * p->config->hidden, true);
    return rows;
}

static void tell(const oc_trace *trace, const char *name, const pass *p)
{
    if (trace != NULL && trace->fn != NULL && !is_dry(p)) {
        trace->fn(trace->user, name, trace->names_only ? NULL : rows_in_order(p), p->count,
                  p->config->hidden);
    }
}

static bool is_stopped(const oc_trace *trace)
{
    return trace != NULL && trace->stop != NULL && *trace->stop;
}

/* x = patches Wt + b. Patches that the caller did not cut are cut here, into the memory that qkv
 * will use next. */
static void embed_patches(pass *p, const oc_vit_input *input)
{
    const oc_patch_rule *rule = &p->config->patch;
    size_t patch_values = oc_vit_patch_values(p->config);
    const float *patches = input->patches;
    size_t mark = oc_arena_mark(p->arena);
    if (patches == NULL) {
        float *cut = oc_arena_take(p->arena, p->count * patch_values, sizeof *cut);
        if (cut != NULL) {
            for (size_t g = 0; g < p->groups; g++) {
                oc_patches_cut(cut + g * p->group_rows * patch_values, rule,
                               input->frames + g * (size_t)rule->temporal_patch_size,
                               (int)(p->grid_h * (size_t)rule->patch_size),
                               (int)(p->grid_w * (size_t)rule->patch_size));
            }
        }
        patches = cut;
    }
    size_t chunk = chunk_rows(p->count);
    for (size_t first = 0; first < p->count; first += chunk) {
        size_t inner = oc_arena_mark(p->arena), rows = smaller(chunk, p->count - first);
        oc_activations activations;
        oc_activations_prepare(&activations, p->compute, p->arena, p->vit->patch_embed.format,
                               is_dry(p) ? NULL : patches + first * patch_values, rows,
                               patch_values, patch_values);
        oc_linear_into(p->compute, p->arena, &p->vit->patch_embed, &activations,
                       &(oc_linear_output){.bias = p->vit->patch_bias,
                                           .y = at(p->x, first * p->config->hidden),
                                           .y_stride = p->config->hidden});
        oc_arena_release(p->arena, inner);
    }
    oc_arena_release(p->arena, mark);
}

static void fill_rope_tables(pass *p)
{
    size_t half = p->config->head_dim / 2;
    for (size_t i = 0; i < p->count; i++) {
        size_t row, column, patch = i;
        if (p->order != NULL) {
            patch = p->order[i / p->cell_rows] * p->cell_rows + i % p->cell_rows;
        }
        float *cosine = p->cosine + i * half;
        float *sine = p->sine + i * half;
        oc_vit_patch_place(patch % p->group_rows, p->grid_w, (size_t)p->config->patch.merge_size,
                           &row, &column);
        oc_vit_rope_angles(sine, row, column, p->config->head_dim);
        for (size_t j = 0; j < half; j++) {
            float angle = sine[j];
            cosine[j] = cosf(angle);
            sine[j] = sinf(angle);
        }
    }
}

/* qkv = norm1(x) Wt + b */
static void project_in(const pass *p, const oc_vit_block *block)
{
    size_t hidden = p->config->hidden, chunk = chunk_rows(p->count);
    oc_norm norm = {block->norm1_weight, block->norm1_bias, NORM_EPS};
    for (size_t first = 0; first < p->count; first += chunk) {
        size_t mark = oc_arena_mark(p->arena), rows = smaller(chunk, p->count - first);
        oc_activations normed;
        oc_activations_prepare_normed(&normed, p->compute, p->arena, block->qkv.format, &norm,
                                      at(p->x, first * hidden), rows, hidden);
        oc_linear_into(p->compute, p->arena, &block->qkv, &normed,
                       &(oc_linear_output){.bias = block->qkv_bias,
                                           .y = at(p->qkv, first * 3 * hidden),
                                           .y_stride = 3 * hidden,
                                           .in_halves = p->attends_in_halves,
                                           .halves = at_half(p->qkv_halves, first * 3 * hidden),
                                           .halves_stride = 3 * hidden});
        oc_arena_release(p->arena, mark);
    }
}

/* x += attended Wt + b */
static void project_out(const pass *p, const oc_vit_block *block)
{
    size_t hidden = p->config->hidden, chunk = chunk_rows(p->count);
    for (size_t first = 0; first < p->count; first += chunk) {
        size_t mark = oc_arena_mark(p->arena), rows = smaller(chunk, p->count - first);
        oc_activations activations;
        if (p->keeps_attended_halves) {
            oc_activations_from_halves(
                &activations, at_half(p->attended_halves, first * oc_halves_stride(hidden)), rows,
                hidden);
        } else {
            oc_activations_prepare(&activations, p->compute, p->arena, block->projection.format,
                                   at(p->attended, first * hidden), rows, hidden, hidden);
        }
        oc_linear_into(p->compute, p->arena, &block->projection, &activations,
                       &(oc_linear_output){.bias = block->projection_bias,
                                           .add = true,
                                           .y = at(p->x, first * hidden),
                                           .y_stride = hidden});
        oc_arena_release(p->arena, mark);
    }
}

/* Rows [first, first + rows) among themselves. */
static void attend_among(const pass *p, size_t first, size_t rows)
{
    size_t hidden = p->config->hidden, angles = first * (p->config->head_dim / 2);
    float scale = 1.0f / sqrtf((float)p->config->head_dim);
    if (p->attends_in_halves) {
        size_t stride = p->keeps_attended_halves ? oc_halves_stride(hidden) : hidden;
        uint16_t *qkv = at_half(p->qkv_halves, first * 3 * hidden);
        oc_attention_full_bf16(
            p->compute, p->arena,
            &(oc_attention_bf16_job){.query = qkv,
                                     .key = at_half(qkv, hidden),
                                     .value = at_half(qkv, 2 * hidden),
                                     .out = at_half(p->attended_halves, first * stride),
                                     .wide_out = at(p->attended, first * stride),
                                     .stride = 3 * hidden,
                                     .out_stride = stride,
                                     .rows = rows,
                                     .heads = p->config->heads,
                                     .head_dim = p->config->head_dim,
                                     .scale = scale,
                                     .cosine = at(p->cosine, angles),
                                     .sine = at(p->sine, angles)});
    } else {
        float *qkv = at(p->qkv, first * 3 * hidden);
        oc_attention_full(p->compute, p->arena,
                          &(oc_attention_full_job){.query = qkv,
                                                   .key = at(qkv, hidden),
                                                   .value = at(qkv, 2 * hidden),
                                                   .out = at(p->attended, first * hidden),
                                                   .stride = 3 * hidden,
                                                   .out_stride = hidden,
                                                   .rows = rows,
                                                   .heads = p->config->heads,
                                                   .head_dim = p->config->head_dim,
                                                   .scale = scale,
                                                   .cosine = at(p->cosine, angles),
                                                   .sine = at(p->sine, angles)});
    }
}

/* x += proj(attention(norm1(x))), inside windows or among all rows of a group. */
static void attend(const pass *p, size_t index)
{
    const oc_vit_block *block = &p->vit->blocks[index];
    project_in(p, block);
    if (p->windows == 0 || p->config->whole[index]) {
        for (size_t g = 0; g < (is_dry(p) ? 1 : p->groups); g++) {
            attend_among(p, g * p->group_rows, p->group_rows);
        }
    } else if (is_dry(p)) {
        attend_among(p, 0, p->largest_window);
    } else {
        for (size_t i = 0, first = 0; i < p->windows; i++) {
            attend_among(p, first * p->cell_rows, (p->ends[i] - first) * p->cell_rows);
            first = p->ends[i];
        }
    }
    project_out(p, block);
}

/* y (+)= fc2(f(fc1(x))), rows of them at once. */
static void pass_through(const pass *p, const oc_matrix *fc1, const float *fc1_bias,
                         oc_pointwise pointwise, const oc_matrix *fc2, const oc_activations *x,
                         const oc_linear_output *y)
{
    size_t mark = oc_arena_mark(p->arena), wide = fc1->rows;
    oc_linear_output between = {.bias = fc1_bias, .pointwise = pointwise};
    oc_activations activations;
    if (takes_halves(p, fc2)) {
        between.in_halves = true;
        between.halves_stride = oc_halves_stride(wide);
        between.halves =
            oc_arena_take(p->arena, x->rows, between.halves_stride * sizeof *between.halves);
        oc_linear_into(p->compute, p->arena, fc1, x, &between);
        oc_activations_from_halves(&activations, between.halves, x->rows, wide);
    } else {
        between.y_stride = wide;
        between.y = oc_arena_take(p->arena, x->rows, wide * sizeof *between.y);
        oc_linear_into(p->compute, p->arena, fc1, x, &between);
        oc_activations_prepare(&activations, p->compute, p->arena, fc2->format, between.y, x->rows,
                               wide, wide);
    }
    oc_linear_into(p->compute, p->arena, fc2, &activations, y);
    oc_arena_release(p->arena, mark);
}

/* up = fc1(norm2(x)) and, with a gate, gate = gate(norm2(x)), float32 [rows, intermediate]. The normed
 * rows serve both, unless a package holds the two matrices in two forms. */
static void widen_rows(const pass *p, const oc_vit_block *block, const oc_norm *norm,
                       const float *x, size_t rows, float *up, float *gate)
{
    size_t mark = oc_arena_mark(p->arena), hidden = p->config->hidden;
    oc_activations normed;
    oc_activations_prepare_normed(&normed, p->compute, p->arena, block->fc1.format, norm, x, rows,
                                  hidden);
    oc_linear(p->compute, p->arena, &block->fc1, block->fc1_bias, &normed, up, block->fc1.rows);
    if (p->config->mlp == OC_VIT_SWIGLU) {
        if (block->gate.format != block->fc1.format) {
            oc_activations_prepare_normed(&normed, p->compute, p->arena, block->gate.format, norm,
                                          x, rows, hidden);
        }
        oc_linear(p->compute, p->arena, &block->gate, block->gate_bias, &normed, gate,
                  block->gate.rows);
    }
    oc_arena_release(p->arena, mark);
}

/* x += fc2(f(fc1(norm2(x)))) for those f that are an operation of their own. */
static void add_by_operation(const pass *p, const oc_vit_block *block, const oc_norm *norm,
                             size_t rows, const oc_linear_output *x)
{
    size_t wide = block->fc1.rows;
    bool gated = p->config->mlp == OC_VIT_SWIGLU;
    float *up = oc_arena_take(p->arena, rows, wide * sizeof *up);
    float *gate = gated ? oc_arena_take(p->arena, rows, wide * sizeof *gate) : NULL;
    widen_rows(p, block, norm, x->y, rows, up, gate);
    if (!is_dry(p) && !p->arena->overflow) {
        if (gated) {
            oc_silu_mul(p->compute, up, gate, up, rows * wide);
        } else {
            oc_quick_gelu(p->compute, up, up, rows * wide);
        }
    }
    oc_activations activations;
    oc_activations_prepare(&activations, p->compute, p->arena, block->fc2.format, up, rows, wide,
                           wide);
    oc_linear_into(p->compute, p->arena, &block->fc2, &activations, x);
}

/* x += fc2(f(fc1(norm2(x)))) */
static void feed_forward(const pass *p, const oc_vit_block *block)
{
    size_t hidden = p->config->hidden, chunk = chunk_rows(p->count);
    oc_norm norm = {block->norm2_weight, block->norm2_bias, NORM_EPS};
    for (size_t first = 0; first < p->count; first += chunk) {
        size_t mark = oc_arena_mark(p->arena), rows = smaller(chunk, p->count - first);
        const oc_linear_output x = {.bias = block->fc2_bias,
                                    .add = true,
                                    .y = at(p->x, first * hidden),
                                    .y_stride = hidden};
        if (p->config->mlp == OC_VIT_GELU_TANH) {
            oc_activations normed;
            oc_activations_prepare_normed(&normed, p->compute, p->arena, block->fc1.format, &norm,
                                          x.y, rows, hidden);
            pass_through(p, &block->fc1, block->fc1_bias, OC_POINTWISE_GELU_TANH, &block->fc2,
                         &normed, &x);
        } else {
            add_by_operation(p, block, &norm, rows, &x);
        }
        oc_arena_release(p->arena, mark);
    }
}

/* merge^2 rows of x become one of out [tokens, out_hidden]. The concatenation is a reshape, since
 * rows come block by block. The main merger norms each row, a deepstack merger the concatenation. */
static void merge(const pass *p, const oc_vit_merger *merger, bool norm_after_concat, float *out)
{
    float *all = is_dry(p) ? NULL : rows_in_order(p);
    size_t merge_rows = p->cell_rows, hidden = p->config->hidden, wide = hidden * merge_rows;
    size_t tokens = p->cells, chunk = chunk_rows(tokens);
    oc_norm norm = {merger->norm_weight, merger->norm_bias, NORM_EPS};
    for (size_t first = 0; first < tokens; first += chunk) {
        size_t mark = oc_arena_mark(p->arena), rows = smaller(chunk, tokens - first);
        float *x = at(all, first * wide);
        oc_activations normed;
        if (norm_after_concat) {
            oc_activations_prepare_normed(&normed, p->compute, p->arena, merger->fc1.format, &norm,
                                          x, rows, wide);
        } else {
            float *y = oc_arena_take(p->arena, rows, wide * sizeof *y);
            if (y != NULL) {
                oc_norm_rows(p->compute, y, x, &norm, rows * merge_rows, hidden);
            }
            oc_activations_prepare(&normed, p->compute, p->arena, merger->fc1.format, y, rows, wide,
                                   wide);
        }
        pass_through(p, &merger->fc1, merger->fc1_bias, OC_POINTWISE_GELU_ERF, &merger->fc2,
                     &normed,
                     &(oc_linear_output){.bias = merger->fc2_bias,
                                         .y = at(out, first * p->config->out_hidden),
                                         .y_stride = p->config->out_hidden});
        oc_arena_release(p->arena, mark);
    }
}

/* Memory for qkv and what attention makes of it, in the form that the weights ask for: a tower in
 * float32 is exact throughout. */
static void take_rows(pass *p)
{
    size_t hidden = p->config->hidden;
    oc_format format = p->vit->blocks[0].qkv.format;
    p->attends_in_halves =
        p->compute->kernels->bf16_products && format != OC_FORMAT_F32 && format != OC_FORMAT_F16;
    p->keeps_attended_halves = p->attends_in_halves;
    for (size_t i = 0; i < p->config->layers; i++) {
        p->keeps_attended_halves =
            p->keeps_attended_halves && takes_halves(p, &p->vit->blocks[i].projection);
    }
    if (p->attends_in_halves) {
        p->qkv_halves = oc_arena_take(p->arena, p->count * 3 * hidden, sizeof *p->qkv_halves);
    } else {
        p->qkv = oc_arena_take(p->arena, p->count * 3 * hidden, sizeof *p->qkv);
    }
    if (p->keeps_attended_halves) {
        p->attended_halves = oc_arena_take(p->arena, p->count * oc_halves_stride(hidden),
                                           sizeof *p->attended_halves);
    } else {
        p->attended = oc_arena_take(p->arena, p->count * hidden, sizeof *p->attended);
    }
}

/* Windows: where they are, and the rows moved into their order. */
static void order_by_windows(pass *p)
{
    size_t merge = (size_t)p->config->patch.merge_size, side = p->config->window;
    size_t cells_h = p->grid_h / merge, cells_w = p->grid_w / merge;
    if (side == 0) {
        return;
    }
    size_t windows = oc_vit_window_count(cells_h, cells_w, side), cells = cells_h * cells_w;
    p->windows = p->groups * windows;
    p->largest_window = smaller(side, cells_h) * smaller(side, cells_w) * p->cell_rows;
    p->order = oc_arena_take(p->arena, p->cells, sizeof *p->order);
    p->ends = oc_arena_take(p->arena, p->windows, sizeof *p->ends);
    if (!is_dry(p) && !p->arena->overflow) {
        size_t width = p->cell_rows * p->config->hidden;
        float *rows = spare_rows(p);
        for (size_t g = 0; g < p->groups; g++) {
            size_t *order = p->order + g * cells, *ends = p->ends + g * windows;
            oc_vit_window_order(order, ends, cells_h, cells_w, side);
            for (size_t i = 0; i < cells; i++) {
                order[i] += g * cells;
            }
            for (size_t i = 0; i < windows; i++) {
                ends[i] += g * cells;
            }
        }
        memcpy(rows, p->x, p->cells * width * sizeof *rows);
        oc_vit_window_move(p->x, rows, p->order, p->cells, width, false);
    }
}

/* The pass itself; with a dry arena it only counts. */
static void run(pass *p, const oc_vit_input *input, float *rows, float *taps, size_t tap_stride,
                const oc_trace *trace)
{
    const oc_vit_config *config = p->config;
    size_t half = config->head_dim / 2;
    char name[32];
    p->cell_rows = (size_t)(config->patch.merge_size * config->patch.merge_size);
    p->cells = p->count / p->cell_rows;
    p->x = oc_arena_take(p->arena, p->count * config->hidden, sizeof *p->x);
    embed_patches(p, input);
    tell(trace, "patch_embed", p);
    p->cosine = oc_arena_take(p->arena, p->count * half, sizeof *p->cosine);
    p->sine = oc_arena_take(p->arena, p->count * half, sizeof *p->sine);
    take_rows(p);
    order_by_windows(p);
    if (p->arena->overflow) {
        return;
    }
    if (!is_dry(p)) {
        if (config->position_side > 0) {
            for (size_t g = 0; g < p->groups; g++) {
                oc_vit_add_positions(p->x + g * p->group_rows * config->hidden, 0, p->group_rows,
                                     p->vit->positions.data, config->position_side, config->hidden,
                                     p->grid_h, p->grid_w, (size_t)config->patch.merge_size);
            }
        }
        fill_rope_tables(p);
    }
    if (config->position_side > 0) {
        tell(trace, "after_pos", p);
    }
    for (size_t i = 0; i < config->layers; i++) {
        attend(p, i);
        feed_forward(p, &p->vit->blocks[i]);
        snprintf(name, sizeof name, "block_%zu", i);
        tell(trace, name, p);
        if (is_stopped(trace)) {
            return;
        }
        for (size_t t = 0; t < config->tap_count; t++) {
            if (config->taps[t] == i) {
                merge(p, &p->vit->tap_mergers[t], true, is_dry(p) ? NULL : taps + t * tap_stride);
            }
        }
    }
    merge(p, &p->vit->merger, false, rows);
}

bool oc_vit_scratch(const oc_vit *vit, const oc_compute *compute, size_t groups, size_t grid_h,
                    size_t grid_w, size_t *bytes)
{
    oc_arena arena = oc_arena_dry();
    pass p = {.vit = vit,
              .config = &vit->config,
              .compute = compute,
              .arena = &arena,
              .groups = groups,
              .grid_h = grid_h,
              .grid_w = grid_w};
    size_t most_values;
    /* With this product in range, so is every count the pass multiplies out. */
    if (!oc_size_mul(grid_h, grid_w, &p.group_rows) ||
        !oc_size_mul(p.group_rows, groups, &p.count) ||
        !oc_size_mul(p.count, oc_vit_widest_row(&vit->config), &most_values)) {
        return false;
    }
    run(&p, &(oc_vit_input){.groups = groups, .grid_h = grid_h, .grid_w = grid_w}, NULL, NULL, 0,
        NULL);
    *bytes = arena.peak;
    return !arena.overflow;
}

ocelli_status oc_vit_encode(const oc_vit *vit, const oc_compute *compute, oc_arena *arena,
                            const oc_vit_input *input, float *rows, float *taps, size_t tap_stride,
                            const oc_trace *trace, ocelli_error *err)
{
    size_t merge_size = (size_t)vit->config.patch.merge_size;
    if (input->groups == 0 || input->grid_h == 0 || input->grid_w == 0 ||
        input->grid_h % merge_size != 0 || input->grid_w % merge_size != 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "%zu grids of %zu x %zu patches are not whole %zu x %zu blocks",
                       input->groups, input->grid_h, input->grid_w, merge_size, merge_size);
    }
    pass p = {.vit = vit,
              .config = &vit->config,
              .compute = compute,
              .arena = arena,
              .groups = input->groups,
              .grid_h = input->grid_h,
              .grid_w = input->grid_w,
              .group_rows = input->grid_h * input->grid_w,
              .count = input->groups * input->grid_h * input->grid_w};
    size_t mark = oc_arena_mark(arena);
    run(&p, input, rows, taps, tap_stride, trace);
    oc_arena_release(arena, mark);
    if (arena->overflow) {
        return oc_fail(err, OCELLI_E_INTERNAL,
                       "the vision tower needs more scratch than was planned");
    }
    return is_stopped(trace) ? oc_fail(err, OCELLI_E_CANCELLED, "the vision tower was stopped")
                             : OCELLI_OK;
}
