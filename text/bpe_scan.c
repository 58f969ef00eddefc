/* bpe_scan.c - see bpe_scan.h. Two passes over the text: the first proves that it is JSON, finds
 * the tables and counts their entries (so that memory is asked for once), the second reads.
 *
 * The file is mapped, so another program may change it between the passes: the second trusts the
 * first only for how much room there is, and never writes beyond it. */
#include "text/bpe_scan.h"

#include "runtime/base/file.h"
#include "runtime/base/memory.h"
#include "runtime/base/json_scan.h"

#include <math.h>
#include <string.h>

static ocelli_status take_bytes(oc_bpe_scan *out, const unsigned char *bytes, size_t size,
                                ocelli_error *err)
{
    if (size > OC_JSON_LIMIT) {
        return oc_fail(err, OCELLI_E_LIMIT, "%s: %zu bytes, more than the limit of %zu", out->name,
                       size, OC_JSON_LIMIT);
    }
    if (size == 0) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: not a JSON object: the file is empty", out->name);
    }
    const char *impostor = oc_file_impostor(bytes, size);
    if (impostor != NULL) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: is %s", out->name, impostor);
    }
    out->bytes = bytes;
    out->size = size;
    out->hash = oc_hash_bytes(bytes, size);
    return OCELLI_OK;
}

ocelli_status oc_bpe_scan_open(oc_bpe_scan *out, const char *path, ocelli_error *err)
{
    *out = (oc_bpe_scan){.name = oc_strdup(path)};
    if (out->name == NULL) {
        return oc_fail_memory(err, path);
    }
    ocelli_status status = oc_map_open(&out->map, path, NULL, err);
    if (status == OCELLI_OK) {
        status = take_bytes(out, out->map.bytes, out->map.size, err);
    }
    if (status != OCELLI_OK) {
        oc_bpe_scan_close(out);
    }
    return status;
}

ocelli_status oc_bpe_scan_use(oc_bpe_scan *out, const char *name, const char *text, size_t size,
                              ocelli_error *err)
{
    *out = (oc_bpe_scan){.name = oc_strdup(name)};
    ocelli_status status = out->name == NULL
                               ? oc_fail_memory(err, name)
                               : take_bytes(out, (const unsigned char *)text, size, err);
    if (status != OCELLI_OK) {
        oc_bpe_scan_close(out);
    }
    return status;
}

void oc_bpe_scan_close(oc_bpe_scan *scan)
{
    oc_free(scan->name);
    oc_free(scan->spellings);
    oc_map_close(&scan->map);
    *scan = (oc_bpe_scan){0};
}

/* ---- the first pass ------------------------------------------------------------------------- */

static oc_json_scan scan_of(const char *begin, const char *end)
{
    return (oc_json_scan){.at = (const unsigned char *)begin, .end = (const unsigned char *)end};
}

/* A key and its colon; key is "" if it is too long to be one that matters. */
static bool scan_key(oc_json_scan *in, char key[16])
{
    size_t length;
    key[0] = '\0';
    oc_json_scan again = *in;
    if (!oc_scan_string(in, NULL, &length)) {
        return false;
    }
    if (length < 16) {
        (void)oc_scan_string(&again, key, &length);
    }
    return oc_scan_byte(in, ':');
}

/* Walks over the entries of an object or list that begins at in->at, measuring them. */
static bool scan_span(oc_json_scan *in, oc_bpe_span *out)
{
    bool object = *in->at == '{';
    const char close = object ? '}' : ']';
    size_t length;
    *out = (oc_bpe_span){.begin = (const char *)in->at};
    in->at++;
    while (!oc_scan_byte(in, close)) {
        if (out->count > 0 && !oc_scan_byte(in, ',')) {
            return false;
        }
        (void)oc_scan_next_is(in, '"'); /* white space is not part of the entry */
        const unsigned char *entry = in->at;
        if (object) {
            if (!oc_scan_string(in, NULL, &length)) {
                return false;
            }
            out->keys += (size_t)(in->at - entry);
            if (!oc_scan_byte(in, ':')) {
                return false;
            }
        }
        if (!oc_scan_skip(in)) {
            return false;
        }
        size_t size = (size_t)(in->at - entry);
        out->longest = out->longest > size ? out->longest : size;
        out->count++;
    }
    out->end = (const char *)in->at;
    return true;
}

/* The value of a key of "model". Of keys that come twice the first counts, as for cJSON. */
static bool scan_model_value(oc_json_scan *in, oc_bpe_scan *scan, const char *key, bool *seen)
{
    bool vocabulary = strcmp(key, "vocab") == 0 && !seen[0];
    bool merges = strcmp(key, "merges") == 0 && !seen[1];
    seen[0] |= vocabulary;
    seen[1] |= merges;
    if (vocabulary && oc_scan_next_is(in, '{')) {
        return scan_span(in, &scan->vocabulary);
    }
    if (merges && oc_scan_next_is(in, '[')) {
        return scan_span(in, &scan->merges);
    }
    return oc_scan_skip(in);
}

/* The first "model" of the file, after its '{'. */
static bool scan_model(oc_json_scan *in, oc_bpe_scan *scan)
{
    char key[16];
    bool seen[2] = {false, false};
    for (bool first = true; !oc_scan_byte(in, '}'); first = false) {
        if ((!first && !oc_scan_byte(in, ',')) || !scan_key(in, key) ||
            !scan_model_value(in, scan, key, seen)) {
            return false;
        }
    }
    return true;
}

static bool scan_top(oc_json_scan *in, oc_bpe_scan *scan)
{
    char key[16];
    bool seen = false;
    if (!oc_scan_byte(in, '{')) {
        return false;
    }
    for (bool first = true; !oc_scan_byte(in, '}'); first = false) {
        if ((!first && !oc_scan_byte(in, ',')) || !scan_key(in, key)) {
            return false;
        }
        bool model = !seen && strcmp(key, "model") == 0;
        seen |= model;
        if (!(model && oc_scan_byte(in, '{') ? scan_model(in, scan) : oc_scan_skip(in))) {
            return false;
        }
    }
    return oc_scan_is_end(in);
}

/* Where JSON begins: some editors write a byte order mark. */
static oc_json_scan scan_all(const oc_bpe_scan *scan)
{
    const char *text = (const char *)scan->bytes;
    bool marked = scan->size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    return scan_of(text + (marked ? 3 : 0), text + scan->size);
}

static ocelli_status not_json(const oc_bpe_scan *scan, const oc_json_scan *in, ocelli_error *err)
{
    return oc_fail(err, OCELLI_E_FORMAT,
                   "%s: not a JSON object, or not UTF-8, near byte %zu of %zu", scan->name,
                   (size_t)(in->at - scan->bytes), scan->size);
}

/* Appends the text from *from up to and with the opening bracket of a span; *from becomes its end,
 * with the closing one. */
static ocelli_status append_before(oc_buffer *out, const char **from, const oc_bpe_span *span,
                                   ocelli_error *err)
{
    if (span->begin == NULL) {
        return OCELLI_OK;
    }
    const char *begin = *from;
    *from = span->end - 1;
    return oc_buffer_append(out, begin, (size_t)(span->begin + 1 - begin), err);
}

ocelli_status oc_bpe_scan_tokenizer(oc_bpe_scan *scan, oc_json *rest, ocelli_error *err)
{
    oc_json_scan in = scan_all(scan);
    *rest = (oc_json){0};
    if (!scan_top(&in, scan)) {
        return not_json(scan, &in, err);
    }
    bool swapped = scan->merges.begin != NULL && scan->vocabulary.begin != NULL &&
                   scan->merges.begin < scan->vocabulary.begin;
    const char *from = (const char *)scan->bytes;
    const char *end = from + scan->size;
    oc_buffer text = {0};
    ocelli_status status =
        append_before(&text, &from, swapped ? &scan->merges : &scan->vocabulary, err);
    if (status == OCELLI_OK) {
        status = append_before(&text, &from, swapped ? &scan->vocabulary : &scan->merges, err);
    }
    if (status == OCELLI_OK) {
        status = oc_buffer_append(&text, from, (size_t)(end - from), err);
    }
    if (status == OCELLI_OK) {
        status = oc_json_parse(rest, scan->name, text.data, text.length, err);
    }
    oc_buffer_close(&text);
    return status;
}

ocelli_status oc_bpe_scan_vocabulary(oc_bpe_scan *scan, ocelli_error *err)
{
    oc_json_scan in = scan_all(scan);
    if (!oc_scan_next_is(&in, '{') || !scan_span(&in, &scan->vocabulary) || !oc_scan_is_end(&in)) {
        return not_json(scan, &in, err);
    }
    return OCELLI_OK;
}

/* ---- the second pass ------------------------------------------------------------------------ */

/* Decodes a string into text [room], NUL-ended. What is written, the NUL included, is less than
 * what is read, so reading no more than room is writing no more. */
static bool read_string(oc_json_scan *in, char *text, size_t room, size_t *length)
{
    if (!oc_scan_next_is(in, '"')) {
        return false;
    }
    oc_json_scan part = *in;
    if ((size_t)(part.end - part.at) > room) {
        part.end = part.at + room;
    }
    bool sound = oc_scan_string(&part, text, length);
    in->at = part.at;
    return sound;
}

/* An id as the file has it. Whatever is not plain digits goes through cJSON, as in any other file;
 * NAN if it is no number. */
static double read_number(oc_json_scan *in)
{
    uint64_t whole;
    oc_json_scan start = *in;
    if (oc_scan_whole(in, (uint64_t)1 << 53, &whole)) {
        return (double)whole;
    }
    *in = start;
    (void)oc_scan_skip(in);
    cJSON *node = cJSON_ParseWithLength((const char *)start.at, (size_t)(in->at - start.at));
    double number = cJSON_IsNumber(node) ? node->valuedouble : NAN;
    cJSON_Delete(node);
    return number;
}

ocelli_status oc_bpe_scan_words(oc_bpe_scan *scan, oc_bpe_builder *builder, ocelli_error *err)
{
    const oc_bpe_span *span = &scan->vocabulary;
    oc_json_scan in = scan_of(span->begin + 1, span->end);
    oc_free(scan->spellings);
    scan->spellings = oc_alloc(span->keys, 1);
    if (scan->spellings == NULL) {
        return oc_fail_memory(err, scan->name);
    }
    size_t at = 0;
    for (size_t i = 0; i < span->count; i++) {
        size_t length;
        char *spelling = scan->spellings + at;
        if (!read_string(&in, spelling, span->keys - at, &length) || !oc_scan_byte(&in, ':')) {
            return not_json(scan, &in, err);
        }
        at += length + 1;
        OC_TRY(oc_bpe_builder_word(builder, spelling, length, read_number(&in), err));
        (void)oc_scan_byte(&in, ',');
    }
    return OCELLI_OK;
}

/* "a b" or ["a", "b"]; text [room] is for the strings. */
static ocelli_status read_merge(oc_json_scan *in, char *text, size_t room, oc_bpe_builder *builder,
                                ocelli_error *err)
{
    size_t left, right;
    if (read_string(in, text, room, &left)) {
        return oc_bpe_builder_merge_line(builder, text, left, err);
    }
    if (!oc_scan_byte(in, '[') || !read_string(in, text, room, &left) || !oc_scan_byte(in, ',') ||
        !read_string(in, text + left + 1, room - left - 1, &right) || !oc_scan_byte(in, ']')) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: merge %u is not a pair of tokens", builder->file,
                       (unsigned)builder->merge_count);
    }
    return oc_bpe_builder_merge(builder, text, left, text + left + 1, right, err);
}

ocelli_status oc_bpe_scan_merges(const oc_bpe_scan *scan, oc_bpe_builder *builder,
                                 ocelli_error *err)
{
    const oc_bpe_span *span = &scan->merges;
    oc_json_scan in = scan_of(span->begin + 1, span->end);
    char *text = oc_alloc(span->longest, 1);
    if (text == NULL) {
        return oc_fail_memory(err, scan->name);
    }
    ocelli_status status = OCELLI_OK;
    for (size_t i = 0; i < span->count && status == OCELLI_OK; i++) {
        status = read_merge(&in, text, span->longest, builder, err);
        (void)oc_scan_byte(&in, ',');
    }
    oc_free(text);
    return status;
}
