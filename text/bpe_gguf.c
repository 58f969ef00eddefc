/* bpe_gguf.c - see bpe_gguf.h. */
#include "text/bpe_gguf.h"

#include "text/bpe_tables.h"
#include "text/unicode.h"

#include <stdio.h>
#include <string.h>

/* tokenizer.ggml.token_type */
enum { NORMAL = 1, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

/* As a JSON string. The pattern's backslashes are escaped by the same code. */
static ocelli_status put_string(oc_buffer *out, const char *text, size_t length, ocelli_error *err)
{
    size_t begin = 0;
    OC_TRY(oc_buffer_append(out, "\"", 1, err));
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x20 && byte != '"' && byte != '\\') {
            continue;
        }
        char escape[8];
        int written = snprintf(escape, sizeof escape, byte < 0x20 ? "\\u%04x" : "\\%c", byte);
        OC_TRY(oc_buffer_append(out, text + begin, i - begin, err));
        OC_TRY(oc_buffer_append(out, escape, (size_t)written, err));
        begin = i + 1;
    }
    OC_TRY(oc_buffer_append(out, text + begin, length - begin, err));
    return oc_buffer_append(out, "\"", 1, err);
}

static ocelli_status put_number(oc_buffer *out, uint64_t number, ocelli_error *err)
{
    char text[24];
    int written = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return oc_buffer_append(out, text, (size_t)written, err);
}

/* ---- tokens --------------------------------------------------------------------------------- */

typedef struct tokens {
    const oc_gguf *file;
    const oc_gguf_value *texts, *types; /* of one length */
} tokens;

static ocelli_status check_token(const tokens *all, uint64_t id, const char *text, size_t length,
                                 ocelli_error *err)
{
    int64_t type = oc_gguf_integer_at(all->types, (size_t)id);
    if (type < NORMAL || type > BYTE) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: token %llu has type %lld, which is none",
                       all->file->path, (unsigned long long)id, (long long)type);
    }
    if (memchr(text, '\0', length) != NULL || oc_utf8_valid_prefix(text, length) != length) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: token %llu is not UTF-8", all->file->path,
                       (unsigned long long)id);
    }
    return OCELLI_OK;
}

static ocelli_status put_words(oc_buffer *out, const tokens *all, ocelli_error *err)
{
    oc_gguf_strings strings = oc_gguf_strings_of(all->file, all->texts);
    const char *text;
    size_t length;
    bool first = true;
    for (uint64_t id = 0; oc_gguf_next_string(&strings, &text, &length); id++) {
        int64_t type = oc_gguf_integer_at(all->types, (size_t)id);
        if (type == CONTROL || type == USER_DEFINED || type == UNUSED) {
            continue;
        }
        OC_TRY(oc_buffer_append_text(out, first ? "\n" : ",\n", err));
        OC_TRY(put_string(out, text, length, err));
        OC_TRY(oc_buffer_append_text(out, ": ", err));
        OC_TRY(put_number(out, id, err));
        first = false;
    }
    return OCELLI_OK;
}

/* The first to see the tokens: checks them all. */
static ocelli_status put_added(oc_buffer *out, const tokens *all, ocelli_error *err)
{
    oc_gguf_strings strings = oc_gguf_strings_of(all->file, all->texts);
    const char *text;
    size_t length;
    bool first = true;
    for (uint64_t id = 0; oc_gguf_next_string(&strings, &text, &length); id++) {
        OC_TRY(check_token(all, id, text, length, err));
        int64_t type = oc_gguf_integer_at(all->types, (size_t)id);
        if (type != CONTROL && type != USER_DEFINED) {
            continue;
        }
        OC_TRY(oc_buffer_append_text(out, first ? "\n{\"id\": " : ",\n{\"id\": ", err));
        OC_TRY(put_number(out, id, err));
        OC_TRY(oc_buffer_append_text(out, ", \"content\": ", err));
        OC_TRY(put_string(out, text, length, err));
        OC_TRY(oc_buffer_append_text(
            out, ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, ", err));
        OC_TRY(oc_buffer_append_text(out, "\"normalized\": false, \"special\": ", err));
        OC_TRY(oc_buffer_append_text(out, type == CONTROL ? "true}" : "false}", err));
        first = false;
    }
    return OCELLI_OK;
}

static ocelli_status put_merges(oc_buffer *out, const oc_gguf *file, ocelli_error *err)
{
    const oc_gguf_value *merges;
    const char *text;
    size_t length;
    bool first = true;
    OC_TRY(oc_gguf_array(file, "tokenizer.ggml.merges", OC_GGUF_STRING, &merges, err));
    oc_gguf_strings strings = oc_gguf_strings_of(file, merges);
    while (oc_gguf_next_string(&strings, &text, &length)) {
        if (memchr(text, '\0', length) != NULL || oc_utf8_valid_prefix(text, length) != length) {
            return oc_fail(err, OCELLI_E_FORMAT, "%s: a merge is not UTF-8", file->path);
        }
        OC_TRY(oc_buffer_append_text(out, first ? "\n" : ",\n", err));
        OC_TRY(put_string(out, text, length, err));
        first = false;
    }
    return OCELLI_OK;
}

/* ---- the file ------------------------------------------------------------------------------- */

static ocelli_status require(const oc_gguf *file, const char *key, const char *wanted,
                             ocelli_error *err)
{
    const char *found;
    size_t length;
    OC_TRY(oc_gguf_string(file, key, &found, &length, err));
    if (!oc_gguf_text_is(found, length, wanted)) {
        return oc_fail(err, OCELLI_E_UNSUPPORTED, "%s: %s is \"%.*s\"; this version knows \"%s\"",
                       file->path, key, (int)(length < 60 ? length : 60), found, wanted);
    }
    return OCELLI_OK;
}

static ocelli_status find_tokens(tokens *out, const oc_gguf *file, ocelli_error *err)
{
    *out = (tokens){.file = file};
    OC_TRY(oc_gguf_array(file, "tokenizer.ggml.tokens", OC_GGUF_STRING, &out->texts, err));
    OC_TRY(oc_gguf_array(file, "tokenizer.ggml.token_type", OC_GGUF_I32, &out->types, err));
    if (out->texts->count != out->types->count) {
        return oc_fail(err, OCELLI_E_FORMAT, "%s: %llu tokens, but %llu token types", file->path,
                       (unsigned long long)out->texts->count,
                       (unsigned long long)out->types->count);
    }
    return OCELLI_OK;
}

ocelli_status oc_bpe_gguf_write(oc_buffer *out, const oc_gguf *file, ocelli_error *err)
{
    tokens all;
    OC_TRY(require(file, "tokenizer.ggml.model", "gpt2", err));
    OC_TRY(require(file, "tokenizer.ggml.pre", "qwen2", err));
    OC_TRY(find_tokens(&all, file, err));
    OC_TRY(oc_buffer_append_text(out, "{\n\"version\": \"1.0\",\n\"added_tokens\": [", err));
    OC_TRY(put_added(out, &all, err));
    OC_TRY(
        oc_buffer_append_text(out,
                              "],\n\"normalizer\": {\"type\": \"NFC\"},\n"
                              "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [\n"
                              "{\"type\": \"Split\", \"pattern\": {\"Regex\": ",
                              err));
    OC_TRY(put_string(out, OC_BPE_PATTERN, strlen(OC_BPE_PATTERN), err));
    OC_TRY(oc_buffer_append_text(
        out,
        "}, \"behavior\": \"Isolated\", \"invert\": false},\n"
        "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": false, "
        "\"use_regex\": false}]},\n"
        "\"post_processor\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
        "\"trim_offsets\": false, \"use_regex\": false},\n"
        "\"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
        "\"trim_offsets\": false, \"use_regex\": false},\n"
        "\"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, "
        "\"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": \"\", "
        "\"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": false, \"vocab\": {",
        err));
    OC_TRY(put_words(out, &all, err));
    OC_TRY(oc_buffer_append_text(out, "},\n\"merges\": [", err));
    OC_TRY(put_merges(out, file, err));
    return oc_buffer_append_text(out, "]}\n}\n", err);
}
