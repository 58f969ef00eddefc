/* split.c - see split.h. The alternatives of the pattern in their order, each a plain scan.
 *
 * A regular expression engine would backtrack in three of them; what each then settles on is
 * written here directly, so a piece costs one pass over its characters. */
#include "text/split.h"

#include "text/unicode.h"

static bool is_newline(uint32_t code)
{
    return code == '\r' || code == '\n';
}

/* The character at an offset; length 0 at the end of the text. */
static uint32_t peek(const char *text, size_t size, size_t at, size_t *length)
{
    if (at >= size) {
        *length = 0;
        return 0;
    }
    return oc_utf8_decode(text + at, length);
}

/* ASCII lower case; U+017F, the long s, folds to s as case-insensitive matching does. */
static uint32_t fold(uint32_t code)
{
    if (code >= 'A' && code <= 'Z') {
        return code + ('a' - 'A');
    }
    return code == 0x17f ? 's' : code;
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d), text starts with an apostrophe; 0: no match. */
static size_t match_contraction(const char *text, size_t size)
{
    size_t first_length;
    size_t second_length;
    uint32_t first = fold(peek(text, size, 1, &first_length));
    if (first == 's' || first == 't' || first == 'm' || first == 'd') {
        return 1 + first_length;
    }
    if (first == 'r' || first == 'v' || first == 'l') {
        uint32_t second = fold(peek(text, size, 1 + first_length, &second_length));
        if (second_length > 0 && second == (first == 'l' ? (uint32_t)'l' : (uint32_t)'e')) {
            return 1 + first_length + second_length;
        }
    }
    return 0;
}

/* \p{L}* from at; returns the end. */
static size_t skip_letters(const char *text, size_t size, size_t at)
{
    size_t length;
    for (uint32_t code = peek(text, size, at, &length); length > 0 && oc_unicode_is_letter(code);
         code = peek(text, size, at, &length)) {
        at += length;
    }
    return at;
}

static bool is_symbol(uint32_t code) /* [^\s\p{L}\p{N}] */
{
    return !oc_unicode_is_space(code) && !oc_unicode_is_letter(code) && !oc_unicode_is_number(code);
}

/* [^\s\p{L}\p{N}]+[\r\n]* from at; at itself if there is no match. */
static size_t skip_symbols(const char *text, size_t size, size_t at)
{
    size_t length;
    size_t begin = at;
    for (uint32_t code = peek(text, size, at, &length); length > 0 && is_symbol(code);
         code = peek(text, size, at, &length)) {
        at += length;
    }
    while (at > begin && at < size && is_newline((unsigned char)text[at])) {
        at++;
    }
    return at;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+, text starts with white space. */
static size_t match_space(const char *text, size_t size)
{
    size_t at = 0;
    size_t last = 0;     /* where the last white space begins */
    size_t newlines = 0; /* end of the last newline */
    size_t length;
    for (uint32_t code = peek(text, size, at, &length); length > 0 && oc_unicode_is_space(code);
         code = peek(text, size, at, &length)) {
        last = at;
        at += length;
        if (is_newline(code)) {
            newlines = at;
        }
    }
    if (newlines > 0) {
        return newlines;
    }
    return at == size || last == 0 ? at : last;
}

size_t oc_split_next(const char *text, size_t size)
{
    size_t length;
    uint32_t code = peek(text, size, 0, &length);
    if (oc_unicode_is_letter(code)) {
        return skip_letters(text, size, length);
    }
    if (oc_unicode_is_number(code)) {
        return length;
    }
    if (code == '\'') {
        size_t contraction = match_contraction(text, size);
        if (contraction > 0) {
            return contraction;
        }
    }
    if (!is_newline(code)) {
        size_t end = skip_letters(text, size, length);
        if (end > length) {
            return end;
        }
    }
    if (code == ' ') {
        size_t end = skip_symbols(text, size, 1);
        if (end > 1) {
            return end;
        }
    }
    if (oc_unicode_is_space(code)) {
        return match_space(text, size);
    }
    return skip_symbols(text, size, 0);
}
