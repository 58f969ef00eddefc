/* golden_functions.h - what handlers of functions/<kind>.json share. */
#ifndef OC_TESTS_GOLDEN_FUNCTIONS_H
#define OC_TESTS_GOLDEN_FUNCTIONS_H

#include "tests/golden/golden_report.h"
#include "tests/golden/npy.h"

#include <cjson/cJSON.h>

/* What a handler is given. folder is functions/, models is models/ beside it. */
typedef struct golden_context {
    report *r;
    const char *folder, *models;
    char *unsupported; /* [512]: why an entry's model is beyond this version; "": none was */
} golden_context;

/* Reads folder/<value of key>, reporting what goes wrong. */
bool golden_read_array(const golden_context *c, const cJSON *entry, const char *key, npy *out);

/* ---- golden_positions.c: one entry each ------------------------------------------------------ */

void golden_rope_index(const golden_context *c, const cJSON *entry);
void golden_time_positions(const golden_context *c, const cJSON *entry);
void golden_vision_positions(const golden_context *c, const cJSON *entry);
void golden_window_index(const golden_context *c, const cJSON *entry);
void golden_text_rope(const golden_context *c, const cJSON *entry);

#endif
