/* resize.c - see resize.h.
 *
 * Pillow's arithmetic: weights in double, normalised, rounded to 22 fractional bits; sums in 32-bit
 * integers; each pass rounded and clipped to a byte. The order of a sum does not matter in integers,
 * so the loops may be turned to suit the vector unit. */
#include "vision/resize.h"

#include "runtime/base/memory.h"

#include <math.h>
#include <string.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF /* a fused multiply-add would change last bits of the weights */
#endif

enum {
    CHANNELS = 3,
    WEIGHT_BITS = 32 - 8 - 2, /* 8 bits of pixel, 2 of overshoot */
    HALF = 1 << (WEIGHT_BITS - 1),
    ROWS_AT_A_TIME = 8, /* rows of one job: fixed, so that the split never depends on threads */
    LANES = 768         /* sums of the height pass held at once: three kilobytes of stack */
};

/* For each output position: which inputs, and how much of each. */
typedef struct tap_table {
    int outputs, most_taps;
    int *first, *count; /* [outputs] */
    int32_t *weights;   /* [outputs, most_taps] */
} tap_table;

/* Cubic convolution with a = -0.5. */
static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) {
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    }
    if (x < 2.0) {
        return (((x - 5) * x + 8) * x - 4) * a;
    }
    return 0.0;
}

static void close_taps(tap_table *taps)
{
    oc_free(taps->first);
    oc_free(taps->count);
    oc_free(taps->weights);
    *taps = (tap_table){0};
}

static int32_t fix(double weight)
{
    double scaled = weight * (1 << WEIGHT_BITS);
    return weight < 0 ? (int32_t)(-0.5 + scaled) : (int32_t)(0.5 + scaled);
}

/* Fills the taps of one output. exact [most_taps] is scratch. */
static void fill_output(tap_table *taps, int output, int input_size, double scale, double *exact)
{
    double stretch = scale < 1.0 ? 1.0 : scale;
    double support = 2.0 * stretch;
    double center = (output + 0.5) * scale;
    double inverse = 1.0 / stretch;
    int first = (int)(center - support + 0.5);
    if (first < 0) {
        first = 0;
    }
    int end = (int)(center + support + 0.5);
    if (end > input_size) {
        end = input_size;
    }
    double sum = 0.0;
    for (int i = 0; i < end - first; i++) {
        exact[i] = cubic((i + first - center + 0.5) * inverse);
        sum += exact[i];
    }
    int32_t *weights = taps->weights + (size_t)output * (size_t)taps->most_taps;
    for (int i = 0; i < end - first; i++) {
        weights[i] = fix(sum != 0.0 ? exact[i] / sum : exact[i]);
    }
    taps->first[output] = first;
    taps->count[output] = end - first;
}

static ocelli_status open_taps(tap_table *taps, int input_size, int output_size, ocelli_error *err)
{
    double scale = (double)input_size / output_size;
    double support = 2.0 * (scale < 1.0 ? 1.0 : scale);
    taps->outputs = output_size;
    taps->most_taps = (int)ceil(support) * 2 + 1;
    size_t weights;
    if (!oc_size_mul((size_t)output_size, (size_t)taps->most_taps, &weights)) {
        return oc_fail_memory(err, "resize weights");
    }
    taps->first = oc_alloc((size_t)output_size, sizeof *taps->first);
    taps->count = oc_alloc((size_t)output_size, sizeof *taps->count);
    taps->weights = oc_alloc(weights, sizeof *taps->weights);
    double *exact = oc_alloc((size_t)taps->most_taps, sizeof *exact);
    if (taps->first == NULL || taps->count == NULL || taps->weights == NULL || exact == NULL) {
        oc_free(exact);
        return oc_fail_memory(err, "resize weights");
    }
    for (int i = 0; i < output_size; i++) {
        fill_output(taps, i, input_size, scale, exact);
    }
    oc_free(exact);
    return OCELLI_OK;
}

static uint8_t clip(int32_t sum)
{
    int32_t value = sum >> WEIGHT_BITS;
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

/* One pass over rows of out; in and out are [rows, size, 3]. */
typedef struct pass_job {
    const tap_table *taps;
    const uint8_t *in; /* its first row is first_row of the picture */
    uint8_t *out;
    size_t in_stride, out_stride; /* bytes */
    int first_row;
} pass_job;

static void resize_widths(void *argument, size_t begin, size_t end, int worker)
{
    (void)worker;
    const pass_job *job = argument;
    const tap_table *taps = job->taps;
    for (size_t row = begin; row < end; row++) {
        const uint8_t *in = job->in + row * job->in_stride;
        uint8_t *out = job->out + row * job->out_stride;
        const int32_t *weights = taps->weights;
        for (int x = 0; x < taps->outputs; x++, weights += taps->most_taps, out += CHANNELS) {
            const uint8_t *pixel = in + (size_t)taps->first[x] * CHANNELS;
            int32_t red = HALF, green = HALF, blue = HALF;
            for (int tap = 0; tap < taps->count[x]; tap++, pixel += CHANNELS) {
                red += pixel[0] * weights[tap];
                green += pixel[1] * weights[tap];
                blue += pixel[2] * weights[tap];
            }
            out[0] = clip(red);
            out[1] = clip(green);
            out[2] = clip(blue);
        }
    }
}

static void resize_heights(void *argument, size_t begin, size_t end, int worker)
{
    (void)worker;
    const pass_job *job = argument;
    const tap_table *taps = job->taps;
    int32_t sums[LANES];
    for (size_t row = begin; row < end; row++) {
        const int32_t *weights = taps->weights + row * (size_t)taps->most_taps;
        const uint8_t *in = job->in + (size_t)(taps->first[row] - job->first_row) * job->in_stride;
        uint8_t *out = job->out + row * job->out_stride;
        for (size_t at = 0; at < job->out_stride; at += LANES) {
            size_t lanes = job->out_stride - at < LANES ? job->out_stride - at : LANES;
            for (size_t i = 0; i < lanes; i++) {
                sums[i] = HALF;
            }
            for (int tap = 0; tap < taps->count[row]; tap++) {
                const uint8_t *values = in + (size_t)tap * job->in_stride + at;
                int32_t weight = weights[tap];
                for (size_t i = 0; i < lanes; i++) {
                    sums[i] += values[i] * weight;
                }
            }
            for (size_t i = 0; i < lanes; i++) {
                out[at + i] = clip(sums[i]);
            }
        }
    }
}

/* Both passes. Only the rows that the height pass reads go through the width pass. */
static ocelli_status resize_both(uint8_t *out, const tap_table *across, const tap_table *down,
                                 const ocelli_image *source, oc_pool *pool, ocelli_error *err)
{
    int last = down->outputs - 1;
    int first_row = down->first[0];
    size_t rows = (size_t)(down->first[last] + down->count[last] - first_row);
    size_t in_stride = (size_t)source->width * CHANNELS;
    size_t out_stride = (size_t)across->outputs * CHANNELS;
    uint8_t *between = oc_alloc(rows, out_stride); /* [rows, width, 3] */
    if (between == NULL) {
        return oc_fail_memory(err, "resized picture");
    }
    pass_job job = {.taps = across,
                    .in = source->rgb + (size_t)first_row * in_stride,
                    .out = between,
                    .in_stride = in_stride,
                    .out_stride = out_stride};
    oc_pool_run(pool, rows, ROWS_AT_A_TIME, resize_widths, &job);
    job = (pass_job){.taps = down,
                     .in = between,
                     .out = out,
                     .in_stride = out_stride,
                     .out_stride = out_stride,
                     .first_row = first_row};
    oc_pool_run(pool, (size_t)down->outputs, ROWS_AT_A_TIME, resize_heights, &job);
    oc_free(between);
    return OCELLI_OK;
}

/* One pass only: the other length does not change. */
static void resize_one(uint8_t *out, const tap_table *taps, bool across, const ocelli_image *source,
                       oc_pool *pool)
{
    pass_job job = {.taps = taps,
                    .in = source->rgb,
                    .out = out,
                    .in_stride = (size_t)source->width * CHANNELS,
                    .out_stride = (size_t)(across ? taps->outputs : source->width) * CHANNELS};
    size_t rows = (size_t)(across ? source->height : taps->outputs);
    oc_pool_run(pool, rows, ROWS_AT_A_TIME, across ? resize_widths : resize_heights, &job);
}

ocelli_status oc_resize(uint8_t *out, int width, int height, const ocelli_image *source,
                        oc_pool *pool, ocelli_error *err)
{
    if (width < 1 || height < 1) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "resize to %d x %d pixels: both must be at least 1",
                       width, height);
    }
    bool across = width != source->width, down = height != source->height;
    tap_table across_taps = {0}, down_taps = {0};
    ocelli_status status = OCELLI_OK;
    if (across) {
        status = open_taps(&across_taps, source->width, width, err);
    }
    if (down && status == OCELLI_OK) {
        status = open_taps(&down_taps, source->height, height, err);
    }
    if (status == OCELLI_OK) {
        if (across && down) {
            status = resize_both(out, &across_taps, &down_taps, source, pool, err);
        } else if (across) {
            resize_one(out, &across_taps, true, source, pool);
        } else if (down) {
            resize_one(out, &down_taps, false, source, pool);
        } else {
            memcpy(out, source->rgb, (size_t)height * (size_t)width * CHANNELS);
        }
    }
    close_taps(&across_taps);
    close_taps(&down_taps);
    return status;
}
