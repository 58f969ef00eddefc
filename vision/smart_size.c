/* smart_size.c - see smart_size.h.
 *
 * All sizes are computed in double and in the reference's order of operations (divide by beta, then
 * by the factor), because floor and ceil turn a last-bit difference into a whole patch. */
#include "vision/smart_size.h"

#include <limits.h>
#include <math.h>

/* The reference refuses pictures longer than this many times their width. */
static const double MOST_ASPECT = 200.0;

/* frames x height x width, or the largest number there is. */
static uint64_t volume(uint64_t frames, double height, double width)
{
    double product = (double)frames * height * width;
    if (product >= 9007199254740992.0) { /* 2^53: no longer exact, and beyond any bound we allow */
        return UINT64_MAX;
    }
    return (uint64_t)product;
}

static ocelli_status check_arguments(const oc_size_rule *rule, size_t frames, int height, int width,
                                     ocelli_error *err)
{
    if (rule->factor < 1 || rule->temporal < 1) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "size rule: factor %d and temporal patch %d must be at least 1",
                       rule->factor, rule->temporal);
    }
    if (height < 1 || width < 1 || frames < 1) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "size rule: %zu frames of %d x %d pixels: none of these may be below 1",
                       frames, width, height);
    }
    return OCELLI_OK;
}

static ocelli_status check_aspect(int height, int width, ocelli_error *err)
{
    double longer = height > width ? height : width;
    double shorter = height > width ? width : height;
    if (longer / shorter > MOST_ASPECT) {
        return oc_fail(err, OCELLI_E_LIMIT,
                       "the picture is %d x %d pixels (width x height): one side is more than %.0f "
                       "times the other, which the model does not take; crop it or cut it in parts",
                       width, height, MOST_ASPECT);
    }
    return OCELLI_OK;
}

/* frames: as given; padded: rounded up to whole temporal patches. The budget test uses padded, beta
 * uses frames: that is how the reference has it. */
static ocelli_status fit(const oc_size_rule *rule, uint64_t frames, uint64_t padded, int height,
                         int width, int *out_height, int *out_width, ocelli_error *err)
{
    double factor = rule->factor;
    double h = rint(height / factor) * factor;
    double w = rint(width / factor) * factor;
    double pixels = (double)frames * height * width;
    uint64_t used = volume(padded, h, w);
    if (used > rule->max_pixels) {
        double beta = sqrt(pixels / (double)rule->max_pixels);
        h = floor(height / beta / factor) * factor;
        w = floor(width / beta / factor) * factor;
    } else if (used < rule->min_pixels) {
        double beta = sqrt((double)rule->min_pixels / pixels);
        h = ceil(height * beta / factor) * factor;
        w = ceil(width * beta / factor) * factor;
    }
    /* The reference does so when shrinking; a side of 0 would mean no visual tokens at all. */
    h = fmax(h, factor);
    w = fmax(w, factor);
    if (h > INT_MAX || w > INT_MAX) {
        return oc_fail(err, OCELLI_E_LIMIT,
                       "a picture of %d x %d pixels would be resized to %.0f x %.0f: "
                       "the minimum of %llu pixels is too large",
                       width, height, w, h, (unsigned long long)rule->min_pixels);
    }
    *out_height = (int)h;
    *out_width = (int)w;
    return OCELLI_OK;
}

ocelli_status oc_smart_size_image(const oc_size_rule *rule, int height, int width, int *out_height,
                                  int *out_width, ocelli_error *err)
{
    *out_height = *out_width = 0;
    OC_TRY(check_arguments(rule, 1, height, width, err));
    OC_TRY(check_aspect(height, width, err));
    return fit(rule, 1, 1, height, width, out_height, out_width, err);
}

ocelli_status oc_smart_size_video(const oc_size_rule *rule, size_t frames, int height, int width,
                                  int *out_height, int *out_width, ocelli_error *err)
{
    *out_height = *out_width = 0;
    OC_TRY(check_arguments(rule, frames, height, width, err));
    if (rule->by_frame) {
        return oc_smart_size_image(rule, height, width, out_height, out_width, err);
    }
    if (height < rule->factor || width < rule->factor) {
        return oc_fail(err, OCELLI_E_LIMIT,
                       "the frames are %d x %d pixels (width x height): both sides must be at "
                       "least %d; enlarge them",
                       width, height, rule->factor);
    }
    OC_TRY(check_aspect(height, width, err));
    uint64_t temporal = (uint64_t)rule->temporal;
    uint64_t rest = frames % temporal;
    uint64_t padded = frames;
    if (rest != 0 && padded <= UINT64_MAX - temporal) {
        padded += temporal - rest;
    }
    return fit(rule, frames, padded, height, width, out_height, out_width, err);
}
