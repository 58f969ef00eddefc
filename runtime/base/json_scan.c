/* json_scan.c - see json_scan.h. */
#include "runtime/base/json_scan.h"

#include <string.h>

static void skip_space(oc_json_scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t')) {
        scan->at++;
    }
}

bool oc_scan_next_is(oc_json_scan *scan, char byte)
{
    skip_space(scan);
    return scan->at < scan->end && *scan->at == (unsigned char)byte;
}

bool oc_scan_byte(oc_json_scan *scan, char byte)
{
    if (!oc_scan_next_is(scan, byte)) {
        return false;
    }
    scan->at++;
    return true;
}

bool oc_scan_is_end(oc_json_scan *scan)
{
    skip_space(scan);
    return scan->at == scan->end;
}

/* Where strings are written; NULL text: counted, not kept. */
typedef struct string_sink {
    char *text;
    size_t length;
} string_sink;

static void put_byte(string_sink *sink, unsigned byte)
{
    if (sink->text != NULL) {
        sink->text[sink->length] = (char)byte;
    }
    sink->length++;
}

static void put_character(string_sink *sink, uint32_t code)
{
    if (code < 0x80) {
        put_byte(sink, code);
    } else if (code < 0x800) {
        put_byte(sink, 0xc0 | code >> 6);
        put_byte(sink, 0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        put_byte(sink, 0xe0 | code >> 12);
        put_byte(sink, 0x80 | (code >> 6 & 0x3f));
        put_byte(sink, 0x80 | (code & 0x3f));
    } else {
        put_byte(sink, 0xf0 | code >> 18);
        put_byte(sink, 0x80 | (code >> 12 & 0x3f));
        put_byte(sink, 0x80 | (code >> 6 & 0x3f));
        put_byte(sink, 0x80 | (code & 0x3f));
    }
}

/* The four hex digits of \u. */
static bool scan_hex(oc_json_scan *scan, uint32_t *out)
{
    *out = 0;
    if (scan->end - scan->at < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++, scan->at++) {
        unsigned char byte = *scan->at;
        uint32_t digit;
        if (byte >= '0' && byte <= '9') {
            digit = byte - '0';
        } else if (byte >= 'a' && byte <= 'f') {
            digit = byte - 'a' + 10u;
        } else if (byte >= 'A' && byte <= 'F') {
            digit = byte - 'A' + 10u;
        } else {
            return false;
        }
        *out = *out << 4 | digit;
    }
    return true;
}

/* What follows a backslash. A lone surrogate is no character; NUL would end the name early. */
static bool scan_escape(oc_json_scan *scan, string_sink *sink)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (scan->at == scan->end) {
        return false;
    }
    unsigned char kind = *scan->at++;
    const char *found = kind != '\0' ? strchr(names, kind) : NULL;
    if (found != NULL) {
        put_byte(sink, (unsigned char)values[found - names]);
        return true;
    }
    uint32_t code;
    if (kind != 'u' || !scan_hex(scan, &code) || code == 0 || (code >= 0xdc00 && code < 0xe000)) {
        return false;
    }
    if (code >= 0xd800 && code < 0xdc00) {
        uint32_t low;
        if (scan->end - scan->at < 2 || scan->at[0] != '\\' || scan->at[1] != 'u') {
            return false;
        }
        scan->at += 2;
        if (!scan_hex(scan, &low) || low < 0xdc00 || low >= 0xe000) {
            return false;
        }
        code = 0x10000u + ((code - 0xd800u) << 10) + (low - 0xdc00u);
    }
    put_character(sink, code);
    return true;
}

/* One character beyond ASCII, shortest form only. */
static bool scan_utf8(oc_json_scan *scan, string_sink *sink)
{
    unsigned char lead = *scan->at;
    int more = lead >= 0xc2 && lead < 0xe0 ? 1 : lead >= 0xe0 && lead < 0xf0 ? 2 : 3;
    if (lead < 0xc2 || lead > 0xf4 || scan->end - scan->at <= more) {
        return false;
    }
    uint32_t code = lead & (0x3fu >> more);
    for (int i = 1; i <= more; i++) {
        if ((scan->at[i] & 0xc0) != 0x80) {
            return false;
        }
        code = code << 6 | (scan->at[i] & 0x3fu);
    }
    if ((more == 2 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
        (more == 3 && (code < 0x10000 || code > 0x10ffff))) {
        return false;
    }
    scan->at += more + 1;
    put_character(sink, code);
    return true;
}

bool oc_scan_string(oc_json_scan *scan, char *text, size_t *length)
{
    string_sink sink = {.text = text};
    if (!oc_scan_byte(scan, '"')) {
        return false;
    }
    while (scan->at < scan->end && *scan->at != '"') {
        if (*scan->at < 0x20) {
            return false;
        }
        if (*scan->at == '\\') {
            scan->at++;
            if (!scan_escape(scan, &sink)) {
                return false;
            }
        } else if (*scan->at < 0x80) {
            put_byte(&sink, *scan->at++);
        } else if (!scan_utf8(scan, &sink)) {
            return false;
        }
    }
    if (scan->at == scan->end) {
        return false;
    }
    scan->at++;
    if (text != NULL) {
        text[sink.length] = '\0';
    }
    *length = sink.length;
    return true;
}

bool oc_scan_whole(oc_json_scan *scan, uint64_t most, uint64_t *out)
{
    skip_space(scan);
    const unsigned char *start = scan->at;
    uint64_t value = 0;
    for (; scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9'; scan->at++) {
        unsigned digit = *scan->at - (unsigned)'0';
        if (value > (UINT64_MAX - digit) / 10) {
            return false;
        }
        value = value * 10 + digit;
    }
    bool leading_zero = scan->at - start > 1 && *start == '0';
    bool goes_on =
        scan->at < scan->end && (*scan->at == '.' || *scan->at == 'e' || *scan->at == 'E');
    if (scan->at == start || leading_zero || goes_on || value > most) {
        return false;
    }
    *out = value;
    return true;
}

/* -? int frac? exp? */
static bool skip_number(oc_json_scan *scan)
{
    const unsigned char *at = scan->at;
    const unsigned char *end = scan->end;
    at += at < end && *at == '-';
    const unsigned char *digits = at;
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    bool sound = at > digits && (at - digits == 1 || *digits != '0');
    if (sound && at < end && *at == '.') {
        digits = ++at;
        while (at < end && *at >= '0' && *at <= '9') {
            at++;
        }
        sound = at > digits;
    }
    if (sound && at < end && (*at == 'e' || *at == 'E')) {
        at++;
        at += at < end && (*at == '-' || *at == '+');
        digits = at;
        while (at < end && *at >= '0' && *at <= '9') {
            at++;
        }
        sound = at > digits;
    }
    scan->at = at;
    return sound;
}

static bool skip_scalar(oc_json_scan *scan)
{
    static const char *const words[] = {"true", "false", "null"};
    size_t length;
    if (oc_scan_next_is(scan, '"')) {
        return oc_scan_string(scan, NULL, &length);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        length = strlen(words[i]);
        if ((size_t)(scan->end - scan->at) >= length && memcmp(scan->at, words[i], length) == 0) {
            scan->at += length;
            return true;
        }
    }
    return skip_number(scan);
}

static bool skip_key(oc_json_scan *scan)
{
    size_t length;
    return oc_scan_string(scan, NULL, &length) && oc_scan_byte(scan, ':');
}

bool oc_scan_skip(oc_json_scan *scan)
{
    uint64_t objects = 0; /* bit 0: the innermost open bracket is of an object */
    int depth = 0;
    for (;;) {
        bool object = oc_scan_next_is(scan, '{');
        if (object || oc_scan_next_is(scan, '[')) {
            scan->at++;
            if (!oc_scan_next_is(scan, object ? '}' : ']')) {
                if (depth == 64) {
                    return false;
                }
                objects = objects << 1 | (object ? 1u : 0u);
                depth++;
                if (object && !skip_key(scan)) {
                    return false;
                }
                continue;
            }
            scan->at++;
        } else if (!skip_scalar(scan)) {
            return false;
        }
        /* A value has ended: close what ends with it, or go on to the next one. */
        for (;;) {
            if (depth == 0) {
                return true;
            }
            if (oc_scan_byte(scan, ',')) {
                break;
            }
            if (!oc_scan_byte(scan, (objects & 1) != 0 ? '}' : ']')) {
                return false;
            }
            objects >>= 1;
            depth--;
        }
        if ((objects & 1) != 0 && !skip_key(scan)) {
            return false;
        }
    }
}
