/* positions.c - see positions.h. */
#include "fusion/positions.h"

/* Positions of one medium are below: float32 then still counts by one. */
static const float MOST_TIME = 16777216.0f;

ocelli_status oc_positions_times(int32_t *times, size_t pairs, double seconds, double per_second,
                                 ocelli_error *err)
{
    for (size_t k = 0; k < pairs; k++) {
        float time = (float)k;
        if (per_second > 0) {
            time = time * (float)seconds;
            time = time * (float)per_second;
        }
        if (!(time >= 0.0f && time < MOST_TIME)) {
            return oc_fail(
                err, OCELLI_E_LIMIT,
                "a clip of %zu frame pairs, %g seconds from one to the next, is too long "
                "for the model's time axis",
                pairs, seconds);
        }
        times[k] = (int32_t)time;
    }
    return OCELLI_OK;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

ocelli_status oc_positions_assign(int32_t (*positions)[3], int32_t *next, const int32_t *medium,
                                  const int32_t *row, size_t count, const oc_medium *media,
                                  ocelli_error *err)
{
    int64_t current = 0; /* where the next block or text token begins */
    int32_t block = 0;   /* where the block we are in began */
    for (size_t i = 0; i < count; i++) {
        if (current > INT32_MAX / 2) { /* what a block adds is far less than the other half */
            return oc_fail(err, OCELLI_E_LIMIT,
                           "the clips of the prompt are too long for the model's time axis");
        }
        if (medium[i] < 0) {
            positions[i][0] = positions[i][1] = positions[i][2] = (int32_t)current;
            current++;
            continue;
        }
        const oc_medium *of = &media[medium[i]];
        int32_t width = (int32_t)(of->grid_w / of->merge_size);
        int32_t height = (int32_t)(of->grid_h / of->merge_size);
        int32_t inside = row[i] % (width * height), pair = row[i] / (width * height);
        if (of->times != NULL ? row[i] == 0 : inside == 0) {
            int32_t last = of->times != NULL ? of->times[of->grid_t - 1] : 0;
            block = (int32_t)current;
            current += larger(last + 1, larger(width, height));
        }
        positions[i][0] = block + (of->times != NULL ? of->times[pair] : 0);
        positions[i][1] = block + inside / width;
        positions[i][2] = block + inside % width;
    }
    *next = (int32_t)current;
    return OCELLI_OK;
}
