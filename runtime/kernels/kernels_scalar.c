/* kernels_scalar.c - every kernel in plain C: what a CPU without a better tier runs, and what the
 * better tiers are checked against. Sums that are a reference are double; exponentials are libm's.
 * Built with -ffp-contract=off, so that no compiler fuses what is written apart. */
#include "runtime/kernels/half.h"
#include "runtime/kernels/kernels.h"

#include <math.h>
#include <string.h>

enum { GEMM_ROWS = 4, GEMM_COLS = 16, QUANT_ROWS = 4 };

static void prefetch(const void *from, size_t bytes)
{
    (void)from;
    (void)bytes;
}

static float dot(const float *a, const float *b, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)a[i] * (double)b[i];
    }
    return (float)sum;
}

static void widen_f16(float *out, const uint16_t *in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = oc_f16_widen(in[i]);
    }
}

static void widen_bf16(float *out, const uint16_t *in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = oc_bf16_widen(in[i]);
    }
}

static void narrow_f16(uint16_t *out, const float *in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = oc_f16_narrow(in[i]);
    }
}

static void pack_f32(float *panel, const void *rows, size_t stride, size_t count, size_t depth)
{
    const float *source = rows;
    for (size_t k = 0; k < depth; k++) {
        for (size_t i = 0; i < GEMM_COLS; i++) {
            panel[k * GEMM_COLS + i] = i < count ? source[i * stride + k] : 0.0f;
        }
    }
}

static void pack_f16(float *panel, const void *rows, size_t stride, size_t count, size_t depth)
{
    const uint16_t *source = rows;
    for (size_t k = 0; k < depth; k++) {
        for (size_t i = 0; i < GEMM_COLS; i++) {
            panel[k * GEMM_COLS + i] = i < count ? oc_f16_widen(source[i * stride + k]) : 0.0f;
        }
    }
}

static void pack_bf16(float *panel, const void *packed, size_t packed_stride, size_t first,
                      size_t end, size_t depth)
{
    for (size_t k = 0; k < depth; k++) {
        for (size_t i = 0; i < GEMM_COLS; i++) {
            size_t output = first + i;
            uint16_t half = 0;
            if (output < end) {
                memcpy(&half,
                       (const unsigned char *)packed + output / OC_BF16_TILE * packed_stride +
                           oc_bf16_at(output % OC_BF16_TILE, k),
                       sizeof half);
            }
            panel[k * GEMM_COLS + i] = oc_bf16_widen(half);
        }
    }
}

static void gemm(const oc_gemm *job)
{
    for (size_t r = 0; r < job->rows; r++) {
        float sums[GEMM_COLS] = {0};
        float *y = job->y + r * job->y_stride;
        if (job->add) {
            memcpy(sums, y, job->outputs * sizeof *y);
        }
        for (size_t k = 0; k < job->depth; k++) {
            float x = job->x[r * job->x_row + k * job->x_step];
            const float *w = job->w + k * job->w_step;
            for (size_t n = 0; n < GEMM_COLS; n++) {
                sums[n] += x * w[n];
            }
        }
        memcpy(y, sums, job->outputs * sizeof *y);
    }
}

/* ---- bfloat16 -------------------------------------------------------------------------------- */

static void narrow_bf16(uint16_t *out, const float *in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = oc_bf16_narrow(in[i]);
    }
}

static void product_bf16(const oc_bf16_product *job)
{
    for (size_t i = 0; i < job->rows * job->tiles * OC_BF16_TILE; i++) {
        size_t r = i / (job->tiles * OC_BF16_TILE), n = i % (job->tiles * OC_BF16_TILE);
        const uint16_t *x = job->x + r * job->x_stride;
        const unsigned char *line =
            (const unsigned char *)job->packed + n / OC_BF16_TILE * job->packed_stride;
        float *y = &job->y[r * job->y_stride + n], sum = job->add ? *y : 0.0f;
        for (size_t s = 0; s < job->steps; s++) {
            for (size_t c = 0; c < OC_BF16_STEP; c++) {
                uint16_t half;
                memcpy(&half, line + oc_bf16_at(n % OC_BF16_TILE, c), sizeof half);
                sum += oc_bf16_widen(x[s * OC_BF16_STEP + c]) * oc_bf16_widen(half);
            }
            line += job->packed_step;
        }
        *y = sum;
    }
}

static void weigh_bf16(const oc_bf16_weighing *job)
{
    for (size_t q = 0; q < job->tiles * OC_BF16_TILE; q++) {
        unsigned char *out = (unsigned char *)job->weights + q / OC_BF16_TILE * job->weights_stride;
        float old = job->max[q], max = old, total = 0.0f;
        for (size_t k = 0; k < job->keys; k++) {
            float score = job->scores[k * OC_BF16_COLS + q];
            max = score > max ? score : max;
        }
        max = max <= old + (float)OC_BF16_WEIGHT_SLACK ? old : max;
        float correction = exp2f(old - max);
        for (size_t k = 0; k < job->keys + job->keys % OC_BF16_STEP; k++) {
            uint16_t half = 0;
            if (k < job->keys) {
                half =
                    (uint16_t)(oc_float_bits(exp2f(job->scores[k * OC_BF16_COLS + q] - max)) >> 16);
            }
            total += oc_bf16_widen(half);
            memcpy(out + oc_bf16_at(q % OC_BF16_TILE, k), &half, sizeof half);
        }
        job->max[q] = max;
        job->total[q] = job->total[q] * correction + total;
        for (size_t d = 0; d < job->dims; d++) {
            job->sums[d * OC_BF16_COLS + q] *= correction;
        }
    }
}

static void weigh_page_bf16(const oc_bf16_page *job)
{
    for (size_t q = 0; q < job->queries; q++) {
        const float *scores = job->scores + q * OC_BF16_PAGE_KEYS;
        uint16_t *weights = job->weights + q * OC_BF16_PAGE_KEYS;
        float old = job->max[q], max = old, total = 0.0f;
        for (size_t k = 0; k < job->visible[q]; k++) {
            max = scores[k] * job->scale > max ? scores[k] * job->scale : max;
        }
        max = max <= old + (float)OC_BF16_WEIGHT_SLACK ? old : max;
        for (size_t k = 0; k < job->keys + job->keys % OC_BF16_STEP; k++) {
            weights[k] = 0;
            if (k < job->visible[q]) {
                weights[k] = oc_bf16_narrow(exp2f(scores[k] * job->scale - max));
            }
            total += oc_bf16_widen(weights[k]);
        }
        if (max != old) {
            float correction = exp2f(old - max);
            job->max[q] = max;
            job->total[q] *= correction;
            for (size_t d = 0; d < job->dims; d++) {
                job->sums[q * job->dims + d] *= correction;
            }
        }
        job->total[q] += total;
    }
}

static void quantize_group(int8_t *values, size_t step, oc_quant_group *group, const float *x,
                           size_t count)
{
    float largest = 0.0f;
    bool finite = true;
    for (size_t i = 0; i < count; i++) {
        float magnitude = fabsf(x[i]);
        finite = finite && magnitude <= 0x1.fffffep127f;
        largest = magnitude > largest ? magnitude : largest;
    }
    bool usable = finite && largest >= 1e-30f;
    float inverse = usable ? 127.0f / largest : 0.0f;
    int32_t sums[2] = {0, 0};
    for (size_t i = 0; i < OC_QUANT_GROUP; i++) {
        int32_t code = usable && i < count ? (int32_t)rintf(x[i] * inverse) : 0;
        values[i / OC_QUANT_STEP * step + i % OC_QUANT_STEP] = (int8_t)code;
        sums[i / OC_Q4_GROUP] += code;
    }
    group->scale = usable ? largest / 127.0f : finite ? 0.0f : NAN;
    group->half[0] = -OC_QUANT_OFFSET * sums[0];
    group->half[1] = -OC_QUANT_OFFSET * sums[1];
    group->correction = group->half[0] + group->half[1];
}

static void quantize(int8_t *values, size_t step, oc_quant_group *groups, size_t group_step,
                     const float *x, size_t cols)
{
    for (size_t first = 0; first < cols; first += OC_QUANT_GROUP) {
        size_t count = cols - first < OC_QUANT_GROUP ? cols - first : OC_QUANT_GROUP;
        quantize_group(values + first / OC_QUANT_STEP * step, step,
                       groups + first / OC_QUANT_GROUP * group_step, x + first, count);
    }
}

/* Integer sum of `steps` steps for one output: codes and x point at its first step. */
static int32_t sum_steps(const uint8_t *codes, const int8_t *x, size_t x_step, size_t steps)
{
    int32_t sum = 0;
    for (size_t s = 0; s < steps; s++) {
        for (size_t c = 0; c < OC_QUANT_STEP; c++) {
            sum += (int32_t)codes[s * OC_QUANT_LINE + c] * (int32_t)x[s * x_step + c];
        }
    }
    return sum;
}

enum { STEPS = OC_QUANT_STEPS, HALF_STEPS = STEPS / 2 };

static float read_scale(const unsigned char *scales, size_t i)
{
    uint16_t half;
    memcpy(&half, scales + i * sizeof half, sizeof half);
    return oc_bf16_widen(half);
}

/* Adds one group of one output: Q8. */
static float add_group_q8(float y, const uint8_t *codes, float scale, const int8_t *x,
                          size_t x_step, const oc_quant_group *group)
{
    int32_t sum = group->correction + sum_steps(codes, x, x_step, STEPS);
    float t = (float)sum * scale;
    return y + t * group->scale;
}

/* The same for Q4, codes unpacked. */
static float add_group_q4(float y, const uint8_t *codes, float scale, float second_scale,
                          const int8_t *x, size_t x_step, const oc_quant_group *group)
{
    int32_t first = group->half[0] + sum_steps(codes, x, x_step, HALF_STEPS);
    int32_t second = group->half[1] + sum_steps(codes + HALF_STEPS * OC_QUANT_LINE,
                                                x + HALF_STEPS * x_step, x_step, HALF_STEPS);
    float t = (float)first * scale;
    t = t + (float)second * second_scale;
    return y + t * group->scale;
}

static void product_q8(const oc_quant_product *job)
{
    size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t i = 0; i < job->tiles * job->groups * job->rows; i++) {
        size_t tile = i / job->rows / job->groups, g = i / job->rows % job->groups;
        size_t r = i % job->rows;
        const unsigned char *block =
            job->packed + tile * job->packed_stride + g / 2 * OC_Q8_BLOCK_BYTES;
        const uint8_t *codes = block + (1 + g % 2 * STEPS) * OC_QUANT_LINE;
        const int8_t *x = job->x + g * STEPS * x_step + r * OC_QUANT_STEP;
        float *y = job->y + r * job->y_stride + tile * OC_QUANT_TILE;
        for (size_t n = 0; n < OC_QUANT_TILE; n++) {
            y[n] = add_group_q8(y[n], codes + n * OC_QUANT_STEP,
                                read_scale(block, g % 2 * OC_QUANT_TILE + n), x, x_step,
                                &job->x_groups[g * job->rows + r]);
        }
    }
}

static void product_q4(const oc_quant_product *job)
{
    size_t x_step = job->rows * OC_QUANT_STEP;
    for (size_t i = 0; i < job->tiles * job->groups * job->rows; i++) {
        size_t tile = i / job->rows / job->groups, g = i / job->rows % job->groups;
        size_t r = i % job->rows;
        const unsigned char *block =
            job->packed + tile * job->packed_stride + g * OC_Q4_BLOCK_BYTES;
        const uint8_t *codes = job->codes + tile * job->codes_stride + g * STEPS * OC_QUANT_LINE;
        const int8_t *x = job->x + g * STEPS * x_step + r * OC_QUANT_STEP;
        float *y = job->y + r * job->y_stride + tile * OC_QUANT_TILE;
        for (size_t n = 0; n < OC_QUANT_TILE; n++) {
            y[n] = add_group_q4(y[n], codes + n * OC_QUANT_STEP, read_scale(block, n),
                                read_scale(block, OC_QUANT_TILE + n), x, x_step,
                                &job->x_groups[g * job->rows + r]);
        }
    }
}

static void unpack_q4(uint8_t *codes, const unsigned char *packed, size_t groups)
{
    static const int8_t values[16] = OC_Q4_VALUES;
    for (size_t i = 0; i < groups * HALF_STEPS * OC_QUANT_LINE; i++) {
        size_t line = i / OC_QUANT_LINE, byte = i % OC_QUANT_LINE;
        uint8_t pair = packed[line / HALF_STEPS * OC_Q4_BLOCK_BYTES +
                              (1 + line % HALF_STEPS) * OC_QUANT_LINE + byte];
        uint8_t *low = codes + 2 * line * OC_QUANT_LINE + byte;
        low[0] = (uint8_t)(values[pair & 15] + OC_QUANT_OFFSET);
        low[OC_QUANT_LINE] = (uint8_t)(values[pair >> 4] + OC_QUANT_OFFSET);
    }
}

static void few_q8(const oc_quant_product *job)
{
    oc_quant_product one = *job;
    one.tiles = 1;
    for (size_t r = 0; r < job->rows; r++) {
        memset(job->y + r * job->y_stride, 0, OC_QUANT_TILE * sizeof *job->y);
    }
    product_q8(&one);
}

static void few_q4(const oc_quant_product *job)
{
    oc_quant_product one = *job;
    one.tiles = 1;
    one.groups = 1;
    for (size_t r = 0; r < job->rows; r++) {
        memset(job->y + r * job->y_stride, 0, OC_QUANT_TILE * sizeof *job->y);
    }
    for (size_t g = 0; g < job->groups; g++) {
        uint8_t unpacked[STEPS * OC_QUANT_LINE];
        one.packed = job->packed + g * OC_Q4_BLOCK_BYTES;
        one.codes = unpacked;
        one.x = job->x + g * job->rows * OC_QUANT_GROUP;
        one.x_groups = job->x_groups + g * job->rows;
        unpack_q4(unpacked, one.packed, 1);
        product_q4(&one);
    }
}

static float softmax_block(float *scores, size_t count, float scale, float *max, float *sum)
{
    if (count == 0) {
        return 1.0f;
    }
    float old = *max, largest = old;
    for (size_t i = 0; i < count; i++) {
        largest = scores[i] > largest ? scores[i] : largest;
    }
    float correction = old == largest ? 1.0f : expf(scale * (old - largest));
    double total = 0.0;
    for (size_t i = 0; i < count; i++) {
        scores[i] = expf(scale * (scores[i] - largest));
        total += (double)scores[i];
    }
    *max = largest;
    *sum = *sum * correction + (float)total;
    return correction;
}

static void rms_norm(float *y, const float *x, const float *weight, size_t count, float eps)
{
    double squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        squares += (double)x[i] * (double)x[i];
    }
    float inverse = (float)(1.0 / sqrt(squares / (double)count + (double)eps));
    for (size_t i = 0; i < count; i++) {
        y[i] = x[i] * inverse * weight[i];
    }
}

static void layer_norm(float *y, const float *x, const float *weight, const float *bias,
                       size_t count, float eps)
{
    double total = 0.0, squares = 0.0;
    for (size_t i = 0; i < count; i++) {
        total += (double)x[i];
    }
    double mean = total / (double)count;
    for (size_t i = 0; i < count; i++) {
        squares += ((double)x[i] - mean) * ((double)x[i] - mean);
    }
    double inverse = 1.0 / sqrt(squares / (double)count + (double)eps);
    for (size_t i = 0; i < count; i++) {
        y[i] = (float)(((double)x[i] - mean) * inverse) * weight[i] + bias[i];
    }
}

static void silu_mul(float *y, const float *gate, const float *up, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
    }
}

static void gelu_tanh(float *y, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float inner = 0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
        y[i] = 0.5f * x[i] * (1.0f + tanhf(inner));
    }
}

static void gelu_erf(float *y, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] = 0.5f * x[i] * (1.0f + erff(x[i] * 0.7071067812f));
    }
}

static void finish(const oc_finish *job)
{
    for (size_t i = 0; i < job->rows * job->count; i++) {
        size_t r = i / job->count, n = i % job->count;
        float value = job->sums[r * job->sums_stride + n];
        if (job->bias != NULL) {
            value += job->bias[n];
        }
        switch (job->pointwise) {
        case OC_POINTWISE_NONE: break;
        case OC_POINTWISE_GELU_TANH: gelu_tanh(&value, &value, 1); break;
        case OC_POINTWISE_GELU_ERF: gelu_erf(&value, &value, 1); break;
        }
        if (job->halves != NULL) {
            job->halves[r * job->halves_stride + n] = oc_bf16_narrow(value);
        } else {
            float *y = &job->y[r * job->y_stride + n];
            *y = job->add ? *y + value : value;
        }
    }
}

static void add(float *y, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] += x[i];
    }
}

static void scale(float *y, float factor, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        y[i] *= factor;
    }
}

static void rope(float *v, const float *cosine, const float *sine, size_t half)
{
    for (size_t i = 0; i < half; i++) {
        float a = v[i], b = v[i + half];
        v[i] = a * cosine[i] - b * sine[i];
        v[i + half] = b * cosine[i] + a * sine[i];
    }
}

void oc_kernels_init_scalar(oc_kernels *table)
{
    *table = (oc_kernels){
        .tier = "scalar",
        .gemm_rows = GEMM_ROWS,
        .gemm_cols = GEMM_COLS,
        .quant_rows = QUANT_ROWS,
        .quant_few = OC_QUANT_FEW_ROWS,
        .prefetch = prefetch,
        .dot = dot,
        .widen_f16 = widen_f16,
        .widen_bf16 = widen_bf16,
        .narrow_f16 = narrow_f16,
        .narrow_bf16 = narrow_bf16,
        .pack = {[OC_FORMAT_F32] = pack_f32, [OC_FORMAT_F16] = pack_f16},
        .pack_bf16 = pack_bf16,
        .gemm = gemm,
        .product_bf16 = product_bf16,
        .weigh_bf16 = weigh_bf16,
        .weigh_page_bf16 = weigh_page_bf16,
        .finish = finish,
        .quantize = quantize,
        .product_q8 = product_q8,
        .product_q4 = product_q4,
        .few_q8 = few_q8,
        .few_q4 = few_q4,
        .unpack_q4 = unpack_q4,
        .softmax_block = softmax_block,
        .rms_norm = rms_norm,
        .layer_norm = layer_norm,
        .silu_mul = silu_mul,
        .gelu_tanh = gelu_tanh,
        .gelu_erf = gelu_erf,
        .add = add,
        .scale = scale,
        .rope = rope,
    };
}
