/* grounding.h - where things are, from the text of an answer: boxes and points in source pixels.
 *
 * The text is a model's, so it is believed only when all of it is in the one form that the family was
 * taught: there is no guessing, and either everything is right or nothing is taken.
 */
#ifndef OCELLI_TOOLS_GROUNDING_H
#define OCELLI_TOOLS_GROUNDING_H

#include <ocelli.h>
#include <stdbool.h>
#include <stddef.h>

/* More things than any answer names. */
enum { GROUNDING_MOST = 4096 };

typedef struct grounding_item {
    bool is_point;
    char *label;
    /* Source pixels, from the top left corner of the picture as shown: x1, y1, x2, y2 with x1 < x2 and
     * y1 < y2; of a point x, y. */
    double at[4];
} grounding_item;

typedef struct grounding {
    grounding_item *items; /* [count] */
    size_t count;
} grounding;

/* What the numbers of the answer mean. */
typedef struct grounding_scale {
    ocelli_grounding form;
    int width, height;               /* resized: what the model saw */
    int source_width, source_height; /* as shown */
} grounding_scale;

/* The question in the family's form, a new string for the caller to free; NULL: no memory. points:
 * not for OCELLI_GROUNDING_PAIRS, which has none. */
char *grounding_question(ocelli_grounding form, bool points, const char *what);

/* Reads answer. Things without a label get the label what. False, with a sentence in why, if it is
 * not wholly in the form; then *out holds nothing. */
bool grounding_read(const char *answer, const grounding_scale *scale, const char *what,
                    grounding *out, char *why, size_t size);
void grounding_free(grounding *g);

#endif
