/* golden_case.h - one recorded conversation while it runs, and how its arrays are compared. */
#ifndef OC_TESTS_GOLDEN_CASE_H
#define OC_TESTS_GOLDEN_CASE_H

#include "tests/golden/golden_chat.h"
#include "tests/golden/golden_media.h"
#include "tests/golden/golden_report.h"

#include "fusion/fuse.h"

/* One case while it runs. */
typedef struct golden_running {
    report *r;
    ocelli_model *model;
    const cJSON *json;
    const char *folder; /* of the case */
    golden_chat chat;
    golden_media media;
    oc_chat_items items;
    oc_fused fused;
    bool jpeg;          /* pixels, and all that follows from them, are a little off */
    bool judged;        /* false: the decoder's weights are quantised, it is told only */
    const char *prefix; /* of array names */
} golden_running;

/* A recorded array of the case; false if it has none of that name. */
bool golden_read_recorded(const golden_running *c, const char *array, npy *out);
/* Against a recorded array, if there is one. */
void golden_compare(const golden_running *c, const char *array, const float *ours, size_t count,
                    double tolerance);
void golden_compare_integers(const golden_running *c, const char *array, const int64_t *ours,
                             size_t count);
/* exact, or what follows from pixels that are a little off. */
double golden_vision_tolerance(const golden_running *c, double exact);

/* ---- golden_case_media.c --------------------------------------------------------------------- */

/* Frames, their rate, windows, pixels and grids. */
void golden_compare_media(const golden_running *c);
/* Visual rows and deepstack rows. */
void golden_compare_vision(const golden_running *c);

#endif
