/* text_bytes.c - see text_bytes.h. */
#include "tools/text_bytes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

size_t text_character(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (length == 0) {
        return 0;
    }
    if (bytes[0] < 0x80) {
        return 1;
    }
    size_t count = bytes[0] >= 0xF0 ? 4 : bytes[0] >= 0xE0 ? 3 : 2;
    if (bytes[0] < 0xC2 || bytes[0] > 0xF4 || length < count) {
        return 0;
    }
    for (size_t i = 1; i < count; i++) {
        if ((bytes[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    /* Overlong forms, surrogates, and what lies past U+10FFFF. */
    if ((bytes[0] == 0xE0 && bytes[1] < 0xA0) || (bytes[0] == 0xED && bytes[1] > 0x9F) ||
        (bytes[0] == 0xF0 && bytes[1] < 0x90) || (bytes[0] == 0xF4 && bytes[1] > 0x8F)) {
        return 0;
    }
    return count;
}

bool text_is_utf8(const char *text, size_t length, size_t *bad)
{
    for (size_t i = 0; i < length;) {
        size_t step = text_character(text + i, length - i);
        if (step == 0) {
            *bad = i;
            return false;
        }
        i += step;
    }
    return true;
}

void text_visible(char *out, size_t size, const char *text)
{
    size_t used = 0;
    size_t length = strlen(text);
    if (size == 0) {
        return;
    }
    for (size_t i = 0; i < length;) {
        char piece[8];
        size_t step = text_character(text + i, length - i);
        unsigned char byte = (unsigned char)text[i];
        if (step == 0) {
            snprintf(piece, sizeof piece, "%s", replacement);
            step = 1;
        } else if (step == 1 && (byte < 0x20 || byte == 0x7F)) {
            if (byte == '\n' || byte == '\t' || byte == '\r') {
                snprintf(piece, sizeof piece, "\\%c",
                         byte == '\n'   ? 'n'
                         : byte == '\t' ? 't'
                                        : 'r');
            } else {
                snprintf(piece, sizeof piece, "\\x%02x", (unsigned)byte);
            }
        } else if (step == 2 && byte == 0xC2 && (unsigned char)text[i + 1] < 0xA0) {
            /* The second set of control characters; terminals obey these too. */
            snprintf(piece, sizeof piece, "\\x%02x", (unsigned)(unsigned char)text[i + 1]);
        } else {
            snprintf(piece, sizeof piece, "%.*s", (int)step, text + i);
        }
        size_t wide = strlen(piece);
        if (used + wide + 1 > size) {
            break;
        }
        memcpy(out + used, piece, wide);
        used += wide;
        i += step;
    }
    out[used] = '\0';
}

char *text_valid(const char *text)
{
    size_t length = strlen(text);
    if (length > (SIZE_MAX - 1) / 3) {
        return NULL;
    }
    char *out = malloc(length * 3 + 1);
    size_t used = 0;
    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < length;) {
        size_t step = text_character(text + i, length - i);
        if (step == 0) {
            memcpy(out + used, replacement, 3);
            used += 3;
            i++;
        } else {
            memcpy(out + used, text + i, step);
            used += step;
            i += step;
        }
    }
    out[used] = '\0';
    return out;
}

char *text_unescape(const char *text)
{
    static const char letters[] = "ntr\\\"'";
    static const char meanings[] = "\n\t\r\\\"'";
    char *out = malloc(strlen(text) + 1);
    size_t used = 0;
    if (out == NULL) {
        return NULL;
    }
    while (*text != '\0') {
        const char *letter = *text == '\\' && text[1] != '\0' ? strchr(letters, text[1]) : NULL;
        if (letter != NULL) {
            out[used++] = meanings[letter - letters];
            text += 2;
        } else {
            out[used++] = *text++;
        }
    }
    out[used] = '\0';
    return out;
}

char *text_from_hex(const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = strlen(hex) / 2;
    char *out =
        strlen(hex) % 2 == 0 && strspn(hex, digits) == 2 * length ? malloc(length + 1) : NULL;
    for (size_t i = 0; out != NULL && i < length; i++) {
        size_t high = (size_t)(strchr(digits, hex[2 * i]) - digits);
        size_t low = (size_t)(strchr(digits, hex[2 * i + 1]) - digits);
        out[i] = (char)(unsigned char)(high * 16 + low);
        if (out[i] == '\0') {
            free(out);
            return NULL;
        }
    }
    if (out != NULL) {
        out[length] = '\0';
    }
    return out;
}

char *text_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *out = malloc(size);
    if (out != NULL) {
        memcpy(out, text, size);
    }
    return out;
}
