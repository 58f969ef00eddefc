/* python_json.c - see python_json.h. Rewrites token by token and builds no tree: a tree of doubles
 * would lose whether a number was 3 or 3.0, which Python keeps. */
#include "text/python_json.h"

#include "text/unicode.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rewriter {
    oc_buffer *out;
    const char *what; /* for messages */
    const char *json;
    size_t length, at;
    oc_buffer number;                /* scratch */
    char open[OC_PYTHON_JSON_DEPTH]; /* '{' or '[' per level */
    size_t depth;
} rewriter;

static ocelli_status wrong(const rewriter *r, const char *why, ocelli_error *err)
{
    return oc_fail(err, OCELLI_E_ARGUMENT, "%s: %s at byte %zu of %zu", r->what, why, r->at,
                   r->length);
}

/* The next byte, NUL at the end (a NUL in the text is no JSON either). */
static char peek(const rewriter *r)
{
    return r->at < r->length ? r->json[r->at] : '\0';
}

static char next_token(rewriter *r)
{
    while (peek(r) == ' ' || peek(r) == '\t' || peek(r) == '\n' || peek(r) == '\r') {
        r->at++;
    }
    return peek(r);
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* ---- strings -------------------------------------------------------------------------------- */

/* Four hex digits. */
static bool read_hex(rewriter *r, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        char byte = peek(r);
        char lower = (char)(byte | 0x20);
        uint32_t digit;
        if (is_digit(byte)) {
            digit = (uint32_t)(byte - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            digit = (uint32_t)(lower - 'a') + 10;
        } else {
            return false;
        }
        *code = *code << 4 | digit;
        r->at++;
    }
    return true;
}

/* After a backslash. */
static ocelli_status read_escape(rewriter *r, uint32_t *code, ocelli_error *err)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    char byte = peek(r);
    const char *name = byte != '\0' ? strchr(names, byte) : NULL;
    if (name != NULL) {
        r->at++;
        *code = (unsigned char)values[name - names];
        return OCELLI_OK;
    }
    if (byte != 'u') {
        return wrong(r, "unknown escape", err);
    }
    r->at++;
    uint32_t low;
    if (!read_hex(r, code)) {
        return wrong(r, "\\u without four hex digits", err);
    }
    if (*code < 0xd800 || *code > 0xdfff) {
        return OCELLI_OK;
    }
    bool pair =
        *code < 0xdc00 && peek(r) == '\\' && r->at + 1 < r->length && r->json[r->at + 1] == 'u';
    r->at += pair ? 2 : 0;
    if (!pair || !read_hex(r, &low) || low < 0xdc00 || low > 0xdfff) {
        return wrong(r, "half a surrogate pair", err);
    }
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return OCELLI_OK;
}

/* One character inside quotes, escaped as Python does: quotes, backslashes and controls only. */
static ocelli_status write_character(rewriter *r, uint32_t code, ocelli_error *err)
{
    static const char controls[] = "\b\f\n\r\t";
    static const char names[] = "bfnrt";
    char text[8];
    size_t length;
    const char *control = code != 0 && code < 0x20 ? strchr(controls, (int)code) : NULL;
    if (control != NULL || code == '"' || code == '\\') {
        text[0] = '\\';
        text[1] = control != NULL ? names[control - controls] : (char)code;
        length = 2;
    } else if (code < 0x20) {
        length = (size_t)snprintf(text, sizeof text, "\\u%04x", (unsigned)code);
    } else {
        length = oc_utf8_encode(text, code);
    }
    return oc_buffer_append(r->out, text, length, err);
}

static ocelli_status rewrite_string(rewriter *r, ocelli_error *err)
{
    r->at++; /* the quote */
    OC_TRY(oc_buffer_append(r->out, "\"", 1, err));
    while (peek(r) != '"') {
        if ((unsigned char)peek(r) < 0x20) {
            return wrong(
                r, r->at < r->length ? "control character in a string" : "string without end", err);
        }
        uint32_t code = 0;
        if (peek(r) == '\\') {
            r->at++;
            OC_TRY(read_escape(r, &code, err));
        } else {
            size_t length;
            code = oc_utf8_decode(r->json + r->at, &length);
            r->at += length;
        }
        OC_TRY(write_character(r, code, err));
    }
    r->at++;
    return oc_buffer_append(r->out, "\"", 1, err);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static bool skip_digits(rewriter *r)
{
    size_t begin = r->at;
    while (is_digit(peek(r))) {
        r->at++;
    }
    return r->at > begin;
}

/* Python's repr: the fewest digits that read back as the same double, with an exponent only below
 * 1e-4 and from 1e16. The decimal point of the C library depends on the locale, so digits are
 * picked out one by one. */
static ocelli_status write_double(rewriter *r, double value, ocelli_error *err)
{
    char text[64];
    for (int digits = 0; digits <= 16; digits++) {
        snprintf(text, sizeof text, "%.*e", digits, fabs(value));
        if (strtod(text, NULL) == fabs(value)) {
            break;
        }
    }
    char digits[24];
    size_t count = 0;
    const char *at = text;
    for (; *at != 'e' && *at != '\0'; at++) {
        if (is_digit(*at)) {
            digits[count++] = *at;
        }
    }
    int exponent = *at == 'e' ? (int)strtol(at + 1, NULL, 10) : 0;
    while (count > 1 && digits[count - 1] == '0') {
        count--;
    }
    char written[64];
    size_t length = 0;
    if (signbit(value)) {
        written[length++] = '-';
    }
    if (exponent < -4 || exponent >= 16) {
        written[length++] = digits[0];
        if (count > 1) {
            written[length++] = '.';
            memcpy(written + length, digits + 1, count - 1);
            length += count - 1;
        }
        length += (size_t)snprintf(written + length, sizeof written - length, "e%c%02d",
                                   exponent < 0 ? '-' : '+', abs(exponent));
        return oc_buffer_append(r->out, written, length, err);
    }
    /* Places of the digits: 0 is the ones, 1 the first after the point. */
    int last = (int)count - 1 - exponent;
    last = last < 1 ? 1 : last;
    for (int place = exponent < 0 ? 0 : -exponent; place <= last; place++) {
        int index = place + exponent;
        if (place == 1) {
            written[length++] = '.';
        }
        written[length++] = index >= 0 && index < (int)count ? digits[index] : '0';
    }
    return oc_buffer_append(r->out, written, length, err);
}

static ocelli_status rewrite_number(rewriter *r, ocelli_error *err)
{
    size_t begin = r->at;
    size_t point = 0;
    bool whole = true;
    r->at += peek(r) == '-' ? 1 : 0;
    if (peek(r) == '0') {
        r->at++;
    } else if (!skip_digits(r)) {
        return wrong(r, "expected a value", err);
    }
    if (peek(r) == '.') {
        whole = false;
        point = r->at++;
        if (!skip_digits(r)) {
            return wrong(r, "expected a digit", err);
        }
    }
    if (peek(r) == 'e' || peek(r) == 'E') {
        whole = false;
        r->at++;
        r->at += peek(r) == '+' || peek(r) == '-' ? 1 : 0;
        if (!skip_digits(r)) {
            return wrong(r, "expected a digit", err);
        }
    }
    const char *text = r->json + begin;
    size_t length = r->at - begin;
    if (whole) {
        bool minus_zero = length == 2 && memcmp(text, "-0", 2) == 0; /* Python's int has none */
        return oc_buffer_append(r->out, text + (minus_zero ? 1 : 0), length - (minus_zero ? 1 : 0),
                                err);
    }
    size_t before = point > 0 ? point - begin : length;
    oc_buffer_clear(&r->number);
    OC_TRY(oc_buffer_append(&r->number, text, before, err));
    if (point > 0) {
        OC_TRY(oc_buffer_append_text(&r->number, localeconv()->decimal_point, err));
        OC_TRY(oc_buffer_append(&r->number, text + before + 1, length - before - 1, err));
    }
    double value = strtod(r->number.data, NULL);
    if (!isfinite(value)) {
        return wrong(r, "number too large", err);
    }
    return write_double(r, value, err);
}

/* ---- structure ------------------------------------------------------------------------------ */

static ocelli_status rewrite_word(rewriter *r, const char *word, ocelli_error *err)
{
    size_t length = strlen(word);
    if (r->length - r->at < length || memcmp(r->json + r->at, word, length) != 0) {
        return wrong(r, "expected a value", err);
    }
    r->at += length;
    return oc_buffer_append(r->out, word, length, err);
}

static ocelli_status open_level(rewriter *r, ocelli_error *err)
{
    if (r->depth == OC_PYTHON_JSON_DEPTH) {
        return wrong(r, "nested too deep", err);
    }
    r->open[r->depth++] = peek(r);
    r->at++;
    return oc_buffer_append(r->out, &r->open[r->depth - 1], 1, err);
}

static ocelli_status rewrite_scalar(rewriter *r, ocelli_error *err)
{
    switch (peek(r)) {
    case '"': return rewrite_string(r, err);
    case 't': return rewrite_word(r, "true", err);
    case 'f': return rewrite_word(r, "false", err);
    case 'n': return rewrite_word(r, "null", err);
    default: return rewrite_number(r, err);
    }
}

static ocelli_status rewrite_key(rewriter *r, ocelli_error *err)
{
    if (next_token(r) != '"') {
        return wrong(r, "expected a key", err);
    }
    OC_TRY(rewrite_string(r, err));
    if (next_token(r) != ':') {
        return wrong(r, "expected a colon", err);
    }
    r->at++;
    return oc_buffer_append(r->out, ": ", 2, err);
}

/* After a value: closes what ends here. *more: another value follows in the level still open. */
static ocelli_status close_levels(rewriter *r, bool *more, ocelli_error *err)
{
    *more = false;
    while (r->depth > 0) {
        char token = next_token(r);
        bool object = r->open[r->depth - 1] == '{';
        if (token == ',') {
            r->at++;
            *more = true;
            return oc_buffer_append(r->out, ", ", 2, err);
        }
        if (token != (object ? '}' : ']')) {
            return wrong(r, object ? "expected a comma or }" : "expected a comma or ]", err);
        }
        r->at++;
        r->depth--;
        OC_TRY(oc_buffer_append(r->out, &token, 1, err));
    }
    return OCELLI_OK;
}

static ocelli_status rewrite_value(rewriter *r, ocelli_error *err)
{
    bool more = true;
    while (more) {
        bool in_object = r->depth > 0 && r->open[r->depth - 1] == '{';
        if (in_object) {
            OC_TRY(rewrite_key(r, err));
        }
        char token = next_token(r);
        if (token == '{' || token == '[') {
            OC_TRY(open_level(r, err));
            if (next_token(r) != (token == '{' ? '}' : ']')) {
                continue; /* its first value */
            }
        } else {
            OC_TRY(rewrite_scalar(r, err));
        }
        OC_TRY(close_levels(r, &more, err));
    }
    return OCELLI_OK;
}

ocelli_status oc_python_json_append(oc_buffer *out, const char *what, const char *json,
                                    size_t length, ocelli_error *err)
{
    rewriter r = {.out = out, .what = what, .json = json, .length = length};
    size_t before = out->length;
    ocelli_status status = OCELLI_OK;
    size_t good = oc_utf8_valid_prefix(json, length);
    if (good < length) {
        r.at = good;
        status = wrong(&r, "not UTF-8", err);
    }
    if (status == OCELLI_OK) {
        status = rewrite_value(&r, err);
    }
    if (status == OCELLI_OK) {
        next_token(&r);
        if (r.at < length) {
            status = wrong(&r, "text after the JSON value", err);
        }
    }
    oc_buffer_close(&r.number);
    if (status != OCELLI_OK && out->data != NULL) {
        out->length = before;
        out->data[before] = '\0';
    }
    return status;
}
