/* unicode.h - UTF-8, the classes that the pre-tokeniser asks for, and NFC. */
#ifndef OC_TEXT_UNICODE_H
#define OC_TEXT_UNICODE_H

#include "runtime/base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

/* Length of the well-formed character at text (1 to 4), 0 if it is not well-formed within size. */
size_t oc_utf8_length(const char *text, size_t size);
/* Decodes a well-formed character. */
uint32_t oc_utf8_decode(const char *text, size_t *length);
/* Writes a code point that is no surrogate; returns its length. */
size_t oc_utf8_encode(char out[4], uint32_t code);
/* Offset of the first malformed byte, or size. */
size_t oc_utf8_valid_prefix(const char *text, size_t size);
/* Bytes of text that form whole characters; the rest, at most 3, is the start of one that may still
 * be completed. Malformed bytes count as whole (they will be replaced). */
size_t oc_utf8_complete_prefix(const char *text, size_t size);
/* Appends text with each maximal malformed part replaced by U+FFFD (as Python's errors="replace"). */
ocelli_status oc_utf8_append_lossy(oc_buffer *out, const char *text, size_t size,
                                   ocelli_error *err);

bool oc_unicode_is_letter(uint32_t code); /* \p{L} */
bool oc_unicode_is_number(uint32_t code); /* \p{N} */
bool oc_unicode_is_space(uint32_t code);  /* White_Space */

/* Appends NFC(text), well-formed UTF-8. OCELLI_E_UNSUPPORTED for text beyond ASCII in a build without
 * utf8proc. */
ocelli_status oc_unicode_append_nfc(oc_buffer *out, const char *text, size_t size,
                                    ocelli_error *err);

#endif
