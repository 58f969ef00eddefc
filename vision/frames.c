/* frames.c - see frames.h. The arithmetic is numpy's: linspace is i x step with the last forced to
 * the end, and rounding is half to even. */
#include "vision/frames.h"

#include <math.h>
#include <stdbool.h>

static bool is_rate(double fps)
{
    return fps > 0.0 && fps < HUGE_VAL;
}

static ocelli_status check_rule(const oc_frame_rule *rule, size_t total, ocelli_error *err)
{
    if (total == 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "the clip has no frames");
    }
    if (!is_rate(rule->source_fps)) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "frame rate of the clip: %g is not a number above 0 (frames a second)",
                       rule->source_fps);
    }
    if (rule->sample_fps != 0.0 && !is_rate(rule->sample_fps)) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "frames a second to keep: %g is neither 0 (all) nor a number above 0",
                       rule->sample_fps);
    }
    if (rule->frame_count > total) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "%llu frames were asked for, the clip has %zu",
                       (unsigned long long)rule->frame_count, total);
    }
    if (rule->frame_count == 0 && rule->max_frames == 0) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "at most 0 frames: must be at least 1");
    }
    return OCELLI_OK;
}

static size_t count_frames(const oc_frame_rule *rule, size_t total)
{
    if (rule->frame_count > 0) {
        return (size_t)rule->frame_count;
    }
    double wanted = (double)total;
    if (rule->sample_fps > 0.0) {
        wanted = trunc((double)total / rule->source_fps * rule->sample_fps);
        wanted = fmax(wanted, (double)rule->min_frames);
    }
    wanted = fmin(wanted, (double)rule->max_frames);
    wanted = fmax(wanted, 1.0);
    return wanted < (double)total ? (size_t)wanted : total;
}

static double even_below(double value)
{
    return floor(value / 2.0) * 2.0;
}

/* Qwen2-VL's rule: see frames.h. Products are rounded to float32 before they are cut off, as the
 * reference's torch.arange has it. */
static size_t sample_even(const oc_frame_rule *rule, size_t total, size_t *indices)
{
    double cap = even_below(fmin((double)rule->max_frames, (double)total)), wanted = cap;
    if (rule->frame_count > 0) {
        wanted = (double)rule->frame_count;
    } else if (rule->sample_fps > 0.0) {
        wanted = (double)total / rule->source_fps * rule->sample_fps;
        wanted = even_below(fmin(fmax(wanted, (double)rule->min_frames), cap));
    } else if (total <= rule->max_frames) {
        wanted = (double)total;
    }
    wanted = wanted < 1.0 ? 1.0 : wanted;
    double step = (double)total / wanted;
    size_t count = 0;
    while (count < total && (double)count * step < (double)total) {
        size_t index = (size_t)(float)((double)count * step);
        indices[count++] = index < total ? index : total - 1;
    }
    return count;
}

ocelli_status oc_frames_sample(const oc_frame_rule *rule, size_t total, size_t *indices,
                               size_t *count, ocelli_error *err)
{
    *count = 0;
    OC_TRY(check_rule(rule, total, err));
    if (rule->even) {
        *count = sample_even(rule, total, indices);
        return OCELLI_OK;
    }
    size_t frames = count_frames(rule, total);
    double step = frames > 1 ? (double)(total - 1) / (double)(frames - 1) : 0.0;
    for (size_t i = 0; i < frames; i++) {
        indices[i] = (size_t)rint((double)i * step);
    }
    if (frames > 1) {
        indices[frames - 1] = total - 1;
    }
    *count = frames;
    return OCELLI_OK;
}

void oc_frames_timestamps(const double *seconds, size_t count, double *out)
{
    for (size_t first = 0; first < count; first += 2) {
        size_t second = first + 1 < count ? first + 1 : first;
        out[first / 2] = (seconds[first] + seconds[second]) / 2.0;
    }
}
