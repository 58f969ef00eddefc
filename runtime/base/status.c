/* status.c - see status.h. */
#include "runtime/base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the well-formed character at text (1 to 4; NUL-ended text), 0 if it is malformed. */
static size_t character_length(const unsigned char *text)
{
    unsigned char lead = text[0];
    size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (lead >= 0x80 && (lead < 0xc2 || lead > 0xf4)) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (lead == 0xe0 && text[1] < 0xa0) || (lead == 0xf0 && text[1] < 0x90);
    bool beyond = (lead == 0xed && text[1] > 0x9f) || (lead == 0xf4 && text[1] > 0x8f);
    return overlong || beyond ? 0 : length;
}

void oc_line_clean(char *line)
{
    unsigned char *text = (unsigned char *)line;
    while (*text != '\0') {
        size_t length = character_length(text);
        bool control = *text < 0x20 || *text == 0x7f || (*text == 0xc2 && text[1] < 0xa0);
        if (length == 0 || control) {
            /* A C1 control loses its lead here and its second byte, then malformed, next. */
            *text++ = '?';
        } else {
            text += length;
        }
    }
}

/* Cuts an incomplete UTF-8 character that the buffer's end may have split. */
static void trim_partial_character(char *text, size_t length)
{
    size_t start = length;
    size_t back = 0;
    while (start > 0 && back < 4) {
        unsigned char byte = (unsigned char)text[start - 1];
        start--;
        back++;
        if ((byte & 0xc0) != 0x80) {
            size_t need = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
            if (need > back) {
                text[start] = '\0';
            }
            return;
        }
    }
}

ocelli_status oc_fail(ocelli_error *err, ocelli_status status, const char *format, ...)
{
    if (err != NULL) {
        va_list arguments;
        va_start(arguments, format);
        int wanted = vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
        if (wanted >= (int)sizeof err->message) {
            trim_partial_character(err->message, sizeof err->message - 1);
        }
        oc_line_clean(err->message);
        err->status = status;
    }
    return status;
}

ocelli_status oc_fail_memory(ocelli_error *err, const char *what)
{
    return oc_fail(err, OCELLI_E_MEMORY, "not enough memory for %s", what);
}

ocelli_status oc_fail_prefix(ocelli_error *err, ocelli_status status, const char *prefix)
{
    if (err != NULL) {
        char copy[sizeof err->message];
        memcpy(copy, err->message, sizeof copy);
        return oc_fail(err, status, "%s: %s", prefix, copy);
    }
    return status;
}

const char *ocelli_status_name(ocelli_status status)
{
    switch (status) {
    case OCELLI_OK: return "ok";
    case OCELLI_E_ARGUMENT: return "argument";
    case OCELLI_E_MEMORY: return "memory";
    case OCELLI_E_STATE: return "state";
    case OCELLI_E_IO: return "io";
    case OCELLI_E_FORMAT: return "format";
    case OCELLI_E_UNSUPPORTED: return "unsupported";
    case OCELLI_E_LIMIT: return "limit";
    case OCELLI_E_CONTEXT: return "context";
    case OCELLI_E_CANCELLED: return "cancelled";
    case OCELLI_E_INTERNAL: return "internal";
    }
    return "unknown";
}
