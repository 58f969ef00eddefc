/* golden_public.h - a recorded conversation once more, through the public interface alone. */
#ifndef OC_TESTS_GOLDEN_PUBLIC_H
#define OC_TESTS_GOLDEN_PUBLIC_H

#include "tests/golden/golden_chat.h"
#include "tests/golden/golden_media.h"
#include "tests/golden/golden_report.h"

/* Encodes the media, adds the messages, generates as many tokens as were recorded, and reports the
 * visual rows ("public rows"), the count of prompt tokens and the answer's text, which ends where the
 * recorded tokens first hold an end of the answer. */
ocelli_status golden_public_compare(report *r, ocelli_model *model, const cJSON *json,
                                    const golden_chat *chat, const golden_media *media,
                                    ocelli_error *err);

#endif
