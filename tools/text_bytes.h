/* text_bytes.h - small jobs on text as bytes: UTF-8, names made safe to print, escapes.
 *
 * The program stands outside the library and sees only its public header, so it has its own check
 * of UTF-8: a bad question is the user's mistake and is told before anything is loaded.
 */
#ifndef OCELLI_TOOLS_TEXT_BYTES_H
#define OCELLI_TOOLS_TEXT_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the valid character at text (1 to 4), or 0 if the bytes there are none. */
size_t text_character(const char *text, size_t length);

/* The whole of text is UTF-8. On false *bad is the index of the first wrong byte. */
bool text_is_utf8(const char *text, size_t length, size_t *bad);

/* Writes text to out, NUL-ended, cut to size: control characters as \n, \t, \r or \xNN, invalid
 * bytes as U+FFFD. Four bytes of room for each byte of text are always enough. */
void text_visible(char *out, size_t size, const char *text);

/* A new string, freed by the caller: text with invalid bytes as U+FFFD. NULL: no memory. */
char *text_valid(const char *text);

/* A new string, freed by the caller: text with \n, \t, \r, \\, \" and \' replaced by what they
 * stand for; other pairs stay. NULL: no memory. */
char *text_unescape(const char *text);

/* A new string, freed by the caller: the bytes that hex, lower-case digits in pairs, stands for. NULL:
 * hex is something else, or holds a NUL, or no memory. */
char *text_from_hex(const char *hex);

/* A new copy, freed by the caller. NULL: no memory. */
char *text_copy(const char *text);

#endif
