/* unicode.c - see unicode.h.
 *
 * UTF-8 is our own, strict as Unicode's table 3-7 (no surrogates, no overlong forms). Classes,
 * decompositions and compositions are utf8proc's. Its whole-string functions are not used: they
 * sort combining marks by swapping neighbours, quadratic in the length of a run of marks, and take
 * an int-sized buffer for the whole text. Here the text is normalised in stretches that cannot
 * influence each other, and marks are sorted by counting. */
#include "text/unicode.h"

#include "runtime/base/memory.h"

#include <string.h>

#ifdef OCELLI_HAVE_UTF8PROC
#include <utf8proc.h>
#endif

/* The bytes that may follow a lead byte: all are 80..BF, the first one in a narrower range. */
static size_t lead_length(unsigned char lead, unsigned char *least, unsigned char *most)
{
    *least = 0x80;
    *most = 0xbf;
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xc2 && lead <= 0xdf) {
        return 2;
    }
    if (lead >= 0xe0 && lead <= 0xef) {
        *least = lead == 0xe0 ? 0xa0 : 0x80; /* overlong */
        *most = lead == 0xed ? 0x9f : 0xbf;  /* surrogates */
        return 3;
    }
    if (lead >= 0xf0 && lead <= 0xf4) {
        *least = lead == 0xf0 ? 0x90 : 0x80; /* overlong */
        *most = lead == 0xf4 ? 0x8f : 0xbf;  /* above U+10FFFF */
        return 4;
    }
    return 0;
}

/* How many bytes at text belong together: a whole character (*whole), the start of one, or a single
 * byte that starts nothing. At least 1; size > 0. */
static size_t scan_character(const char *text, size_t size, bool *whole, bool *cut_short)
{
    unsigned char least;
    unsigned char most;
    size_t length = lead_length((unsigned char)text[0], &least, &most);
    *whole = false;
    *cut_short = false;
    if (length == 0) {
        return 1;
    }
    size_t at = 1;
    while (at < length && at < size) {
        unsigned char byte = (unsigned char)text[at];
        if (byte < least || byte > most) {
            return at;
        }
        least = 0x80;
        most = 0xbf;
        at++;
    }
    *whole = at == length;
    *cut_short = at < length;
    return at;
}

size_t oc_utf8_length(const char *text, size_t size)
{
    bool whole = false;
    bool cut_short;
    size_t length = size > 0 ? scan_character(text, size, &whole, &cut_short) : 0;
    return whole ? length : 0;
}

uint32_t oc_utf8_decode(const char *text, size_t *length)
{
    uint32_t lead = (unsigned char)text[0];
    if (lead < 0x80) {
        *length = 1;
        return lead;
    }
    size_t count = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    uint32_t code = lead & (0x7fU >> count);
    for (size_t i = 1; i < count; i++) {
        code = code << 6 | ((unsigned char)text[i] & 0x3fU);
    }
    *length = count;
    return code;
}

size_t oc_utf8_encode(char out[4], uint32_t code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80U | (code & 0x3fU));
        code >>= 6;
    }
    out[0] = (char)((0xf00U >> length & 0xf0U) | code);
    return length;
}

size_t oc_utf8_valid_prefix(const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        if ((unsigned char)text[at] < 0x80) {
            at++;
            continue;
        }
        size_t length = oc_utf8_length(text + at, size - at);
        if (length == 0) {
            break;
        }
        at += length;
    }
    return at;
}

size_t oc_utf8_complete_prefix(const char *text, size_t size)
{
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        bool whole;
        bool cut_short;
        scan_character(text + size - back, back, &whole, &cut_short);
        if (cut_short) {
            return size - back;
        }
        if (((unsigned char)text[size - back] & 0xc0) != 0x80) {
            break; /* a lead byte or ASCII: nothing before it can reach the end */
        }
    }
    return size;
}

ocelli_status oc_utf8_append_lossy(oc_buffer *out, const char *text, size_t size, ocelli_error *err)
{
    size_t at = 0;
    while (at < size) {
        size_t good = oc_utf8_valid_prefix(text + at, size - at);
        if (good > 0) {
            OC_TRY(oc_buffer_append(out, text + at, good, err));
            at += good;
        }
        if (at < size) {
            bool whole;
            bool cut_short;
            at += scan_character(text + at, size - at, &whole, &cut_short);
            OC_TRY(oc_buffer_append(out, "\xef\xbf\xbd", 3, err));
        }
    }
    return OCELLI_OK;
}

bool oc_unicode_is_space(uint32_t code)
{
    if (code < 0x80) {
        return code == ' ' || (code >= 0x09 && code <= 0x0d);
    }
    return code == 0x85 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
           code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f || code == 0x3000;
}

bool oc_unicode_is_letter(uint32_t code)
{
    if (code < 0x80) {
        return (code | 0x20) >= 'a' && (code | 0x20) <= 'z';
    }
#ifdef OCELLI_HAVE_UTF8PROC
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
#else
    return false;
#endif
}

bool oc_unicode_is_number(uint32_t code)
{
    if (code < 0x80) {
        return code >= '0' && code <= '9';
    }
#ifdef OCELLI_HAVE_UTF8PROC
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)code);
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
#else
    return false;
#endif
}

/* ---- NFC ------------------------------------------------------------------------------------ */

#ifdef OCELLI_HAVE_UTF8PROC

/* Characters before which a text may be cut: they are starters, so are their decompositions, and
 * none is ever the second half of a composition. There are more; these keep stretches short in
 * every script that has no marks of its own. */
static bool is_boundary(uint32_t code)
{
    return code < 0x300 ||                       /* Latin */
           (code >= 0x3400 && code <= 0x4dbf) || /* ideographs */
           (code >= 0x4e00 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7a3); /* syllables */
}

/* Scratch of one call: code points of a stretch, and room to sort a run of marks. */
typedef struct scratch {
    utf8proc_int32_t *codes; /* [capacity] */
    utf8proc_int32_t *marks; /* [marks_capacity] */
    size_t count, capacity, marks_capacity;
} scratch;

static ocelli_status reserve(utf8proc_int32_t **block, size_t used, size_t *capacity, size_t need,
                             ocelli_error *err)
{
    if (need <= *capacity) {
        return OCELLI_OK;
    }
    size_t wanted = need > SIZE_MAX / 2 ? need : need * 2;
    utf8proc_int32_t *grown = oc_grow(*block, used, wanted, sizeof **block);
    if (grown == NULL) {
        return oc_fail_memory(err, "text");
    }
    *block = grown;
    *capacity = wanted;
    return OCELLI_OK;
}

static unsigned combining_class(utf8proc_int32_t code)
{
    return (unsigned)utf8proc_get_property(code)->combining_class & 0xffU;
}

/* Puts the marks of codes [count] in order of their class, equal ones as they are. */
static ocelli_status sort_marks(utf8proc_int32_t *codes, size_t count, scratch *work,
                                ocelli_error *err)
{
    size_t begin[257] = {0};
    OC_TRY(reserve(&work->marks, 0, &work->marks_capacity, count, err));
    for (size_t i = 0; i < count; i++) {
        begin[combining_class(codes[i]) + 1]++;
    }
    for (size_t i = 1; i < 257; i++) {
        begin[i] += begin[i - 1];
    }
    for (size_t i = 0; i < count; i++) {
        work->marks[begin[combining_class(codes[i])]++] = codes[i];
    }
    memcpy(codes, work->marks, count * sizeof *codes);
    return OCELLI_OK;
}

static ocelli_status order_marks(scratch *work, ocelli_error *err)
{
    size_t at = 0;
    while (at < work->count) {
        size_t end = at;
        bool sorted = true;
        unsigned last = 0;
        unsigned class;
        while (end < work->count && (class = combining_class(work->codes[end])) > 0) {
            sorted = sorted && class >= last;
            last = class;
            end++;
        }
        if (!sorted) {
            OC_TRY(sort_marks(work->codes + at, end - at, work, err));
        }
        at = end + 1;
    }
    return OCELLI_OK;
}

/* text [size]: one stretch. */
static ocelli_status append_stretch(oc_buffer *out, const char *text, size_t size, scratch *work,
                                    ocelli_error *err)
{
    const utf8proc_option_t options = UTF8PROC_STABLE | UTF8PROC_COMPOSE;
    work->count = 0;
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t code = oc_utf8_decode(text + at, &length);
        utf8proc_int32_t parts[8]; /* 4 is the longest canonical decomposition */
        int boundary_class = 0;
        utf8proc_ssize_t count =
            utf8proc_decompose_char((utf8proc_int32_t)code, parts, 8, options, &boundary_class);
        if (count < 0 || count > 8) {
            return oc_fail(err, OCELLI_E_INTERNAL, "cannot decompose U+%04X", (unsigned)code);
        }
        OC_TRY(
            reserve(&work->codes, work->count, &work->capacity, work->count + (size_t)count, err));
        memcpy(work->codes + work->count, parts, (size_t)count * sizeof *parts);
        work->count += (size_t)count;
    }
    OC_TRY(order_marks(work, err));
    utf8proc_ssize_t composed =
        utf8proc_normalize_utf32(work->codes, (utf8proc_ssize_t)work->count, options);
    if (composed < 0) {
        return oc_fail(err, OCELLI_E_INTERNAL, "cannot compose: %s", utf8proc_errmsg(composed));
    }
    for (size_t i = 0; i < (size_t)composed; i++) {
        char bytes[4];
        size_t length = oc_utf8_encode(bytes, (uint32_t)work->codes[i]);
        OC_TRY(oc_buffer_append(out, bytes, length, err));
    }
    return OCELLI_OK;
}

static ocelli_status append_beyond_ascii(oc_buffer *out, const char *text, size_t size,
                                         ocelli_error *err)
{
    scratch work = {0};
    ocelli_status status = OCELLI_OK;
    for (size_t at = 0; at < size && status == OCELLI_OK;) {
        size_t length;
        oc_utf8_decode(text + at, &length);
        size_t end = at + length;
        while (end < size && !is_boundary(oc_utf8_decode(text + end, &length))) {
            end += length;
        }
        status = append_stretch(out, text + at, end - at, &work, err);
        at = end;
    }
    oc_free(work.codes);
    oc_free(work.marks);
    return status;
}

#endif

ocelli_status oc_unicode_append_nfc(oc_buffer *out, const char *text, size_t size,
                                    ocelli_error *err)
{
    size_t before = out->length;
    size_t at = 0;
    while (at < size) {
        /* ASCII is its own NFC, but its last character may take the marks that follow. */
        size_t end = at;
        while (end < size && (unsigned char)text[end] < 0x80) {
            end++;
        }
        size_t plain = end < size && end > at ? end - 1 : end;
        ocelli_status status = oc_buffer_append(out, text + at, plain - at, err);
        at = plain;
        while (end < size && (unsigned char)text[end] >= 0x80) {
            end++;
        }
        if (status == OCELLI_OK && at < size) {
#ifdef OCELLI_HAVE_UTF8PROC
            status = append_beyond_ascii(out, text + at, end - at, err);
#else
            status =
                oc_fail(err, OCELLI_E_UNSUPPORTED, "text beyond ASCII needs a build with utf8proc");
#endif
        }
        if (status != OCELLI_OK) {
            out->length = before;
            if (out->data != NULL) {
                out->data[before] = '\0';
            }
            return status;
        }
        at = end;
    }
    return OCELLI_OK;
}
