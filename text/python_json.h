/* python_json.h - JSON text rewritten as Python's json.dumps(..., ensure_ascii=False) writes it.
 *
 * Chat templates put tools and arguments into the prompt with that function, and a model sees other
 * tokens for other spacing. */
#ifndef OC_TEXT_PYTHON_JSON_H
#define OC_TEXT_PYTHON_JSON_H

#include "runtime/base/buffer.h"

/* Appends one JSON value: ", " and ": " between, strings unescaped as far as JSON allows, numbers
 * with a point or an exponent in Python's shortest form, whole ones as they are. Keys keep their
 * order. OCELLI_E_ARGUMENT for what is not one JSON value in UTF-8, is nested more than
 * OC_PYTHON_JSON_DEPTH deep, or has half a surrogate pair; what names the text in the message. */
#define OC_PYTHON_JSON_DEPTH 256
ocelli_status oc_python_json_append(oc_buffer *out, const char *what, const char *json,
                                    size_t length, ocelli_error *err);

#endif
