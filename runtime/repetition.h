/* repetition.h - notices an answer that says the same thing for ever. */
#ifndef OC_REPETITION_H
#define OC_REPETITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True when the last tokens of ids [count] are one phrase of at most 64 tokens, at least eight times
 * over and at least 160 tokens long: no list or table a person asked for does that. */
bool oc_repetition_found(const int32_t *ids, size_t count);

#endif
