/* synth_tokenizer.c - see synth_tokenizer.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/synth_tokenizer.h"
#include "tools/model_shape.h"
#include "tools/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order of their ids; the first fourteen are special: answers leave them out. */
static const char *const ADDED[] = {"<|endoftext|>",
                                    "<|im_start|>",
                                    "<|im_end|>",
                                    "<|object_ref_start|>",
                                    "<|object_ref_end|>",
                                    "<|box_start|>",
                                    "<|box_end|>",
                                    "<|quad_start|>",
                                    "<|quad_end|>",
                                    "<|vision_start|>",
                                    "<|vision_end|>",
                                    "<|vision_pad|>",
                                    "<|image_pad|>",
                                    "<|video_pad|>",
                                    "<tool_call>",
                                    "</tool_call>",
                                    "<|fim_prefix|>",
                                    "<|fim_middle|>",
                                    "<|fim_suffix|>",
                                    "<|fim_pad|>",
                                    "<|repo_name|>",
                                    "<|file_sep|>",
                                    "<tool_response>",
                                    "</tool_response>",
                                    "<think>",
                                    "</think>"};
enum { ADDED_COUNT = sizeof ADDED / sizeof *ADDED, SPECIAL_COUNT = 14, BYTE_COUNT = 256 };
enum { MOST_WORDS = 20 * 6 * 20 * 6 * 20 }; /* that made_word has */

static cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* ---- files --------------------------------------------------------------------------------- */

bool json_file_write(const char *folder, const char *name, cJSON *tree)
{
    char *path = path_join(folder, name);
    char *text = tree != NULL ? cJSON_Print(tree) : NULL;
    bool good = false;
    cJSON_Delete(tree);
    if (path != NULL && text == NULL) {
        report_error("no memory");
    } else if (path != NULL) {
        errno = 0;
        FILE *file = fopen(path, "wb");
        good = file != NULL && fputs(text, file) != EOF && fputc('\n', file) != EOF &&
               fflush(file) == 0 && fsync(fileno(file)) == 0;
        int error = errno;
        if (file != NULL && fclose(file) != 0 && good) {
            good = false;
            error = errno;
        }
        if (!good) {
            report_error("cannot write '%s': %s", path, strerror(error));
        }
    }
    cJSON_free(text);
    free(path);
    return good;
}

/* Copies one file; one that is not there is no failure. */
static bool copy_file(const char *from, const char *to, const char *name, bool *found)
{
    char block[1 << 16];
    char *source = path_join(from, name);
    char *target = path_join(to, name);
    FILE *in = source != NULL && target != NULL ? fopen(source, "rb") : NULL;
    FILE *out = NULL;
    bool good = source != NULL && target != NULL;
    *found = in != NULL;
    if (good && in == NULL && errno != ENOENT) {
        report_error("cannot open '%s': %s", source, strerror(errno));
        good = false;
    } else if (in != NULL) {
        out = fopen(target, "wb");
        good = out != NULL;
        for (size_t got = 1; good && got > 0;) {
            got = fread(block, 1, sizeof block, in);
            good = !ferror(in) && fwrite(block, 1, got, out) == got;
        }
        int error = errno;
        if (out != NULL && fclose(out) != 0 && good) {
            good = false;
            error = errno;
        }
        if (!good) {
            report_error("cannot copy '%s' to '%s': %s", source, target, strerror(error));
        }
    }
    if (in != NULL) {
        fclose(in);
    }
    free(source);
    free(target);
    return good;
}

bool synth_tokenizer_copy(const char *from, const char *to)
{
    static const char *const names[] = {"tokenizer.json",
                                        "vocab.json",
                                        "merges.txt",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "chat_template.json",
                                        "chat_template.jinja"};
    bool found[sizeof names / sizeof *names];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!copy_file(from, to, names[i], &found[i])) {
            return false;
        }
    }
    if (!found[0] && !(found[1] && found[2])) {
        report_error("--tokenizer: '%s' has no tokenizer.json, nor vocab.json and merges.txt",
                     from);
        return false;
    }
    return true;
}

/* ---- ids of a given tokenizer -------------------------------------------------------------- */

/* The tree that lists the added tokens: tokenizer.json, or the older tokenizer_config.json. */
static cJSON *read_added(const char *folder)
{
    char *path = path_join(folder, "tokenizer.json");
    if (path != NULL && access(path, F_OK) != 0) {
        free(path);
        path = path_join(folder, "tokenizer_config.json");
    }
    cJSON *tree = path != NULL ? json_file_read(path) : NULL;
    free(path);
    return tree;
}

/* -1: not there. */
static int64_t find_added(const cJSON *tree, const char *content)
{
    const cJSON *list = member(tree, "added_tokens");
    const cJSON *token;
    if (list == NULL) {
        list = member(tree, "added_tokens_decoder"); /* an object: its keys are the ids */
    }
    cJSON_ArrayForEach(token, list)
    {
        const char *text = cJSON_GetStringValue(member(token, "content"));
        const cJSON *id = member(token, "id");
        if (text != NULL && strcmp(text, content) == 0) {
            return cJSON_IsNumber(id)      ? (int64_t)id->valuedouble
                   : token->string != NULL ? strtoll(token->string, NULL, 10)
                                           : -1;
        }
    }
    return -1;
}

bool synth_tokenizer_ids(const char *folder, uint64_t vocab, synth_ids *out)
{
    const struct {
        const char *content;
        int64_t *id;
    } wanted[] = {{ADDED[0], &out->end_of_text},  {ADDED[2], &out->im_end},
                  {ADDED[9], &out->vision_start}, {ADDED[10], &out->vision_end},
                  {ADDED[12], &out->image_pad},   {ADDED[13], &out->video_pad}};
    bool good = true;
    cJSON *tree = read_added(folder);
    if (tree == NULL) {
        return false;
    }
    for (size_t i = 0; good && i < sizeof wanted / sizeof *wanted; i++) {
        *wanted[i].id = find_added(tree, wanted[i].content);
        if (*wanted[i].id < 0 || (uint64_t)*wanted[i].id >= vocab) {
            report_error("--tokenizer: '%s' has no %s with an id below the model's vocab_size "
                         "%" PRIu64,
                         folder, wanted[i].content, vocab);
            good = false;
        }
    }
    cJSON_Delete(tree);
    return good;
}

/* ---- the minimal tokenizer ----------------------------------------------------------------- */

bool synth_tokenizer_fits(const synth_ids *ids, uint64_t vocab)
{
    int64_t first = ids->end_of_text;
    if (first >= BYTE_COUNT && first <= BYTE_COUNT + MOST_WORDS &&
        (uint64_t)first + ADDED_COUNT <= vocab && ids->im_end == first + 2 &&
        ids->vision_start == first + 9 && ids->vision_end == first + 10 &&
        ids->image_pad == first + 12 && ids->video_pad == first + 13) {
        return true;
    }
    report_error("the config's token ids are not those of a tokenizer that can be made up; give "
                 "its own with --tokenizer");
    return false;
}

/* The byte has a character of its own that prints; others are shown as those from U+0100 on. */
static bool byte_prints(int byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
}

/* UTF-8 of a character below U+0800. */
static void put_character(int code, char out[3])
{
    if (code < 0x80) {
        out[0] = (char)code;
        out[1] = '\0';
    } else {
        out[0] = (char)(0xc0 | (code >> 6));
        out[1] = (char)(0x80 | (code & 0x3f));
        out[2] = '\0';
    }
}

/* Bytes that print have the first ids, the others those behind, each in the order of bytes. */
static void add_bytes(cJSON *vocabulary)
{
    char symbol[3];
    double id = 0;
    for (int byte = 0; byte < BYTE_COUNT; byte++) {
        if (byte_prints(byte)) {
            put_character(byte, symbol);
            cJSON_AddNumberToObject(vocabulary, symbol, id++);
        }
    }
    int other = 256;
    for (int byte = 0; byte < BYTE_COUNT; byte++) {
        if (!byte_prints(byte)) {
            put_character(other++, symbol);
            cJSON_AddNumberToObject(vocabulary, symbol, id++);
        }
    }
}

/* " qakob": a space and five letters, consonants and vowels in turn: 288,000 different words. */
static void made_word(uint64_t index, char out[16])
{
    static const char consonants[] = "bcdfghjklmnpqrstvwxz";
    static const char vowels[] = "aeiouy";
    char letters[5];
    for (size_t i = 0; i < sizeof letters; i++) {
        const char *from = i % 2 == 0 ? consonants : vowels;
        size_t size = i % 2 == 0 ? sizeof consonants - 1 : sizeof vowels - 1;
        letters[i] = from[index % size];
        index /= size;
    }
    snprintf(out, 16, "\xc4\xa0%.5s", letters); /* U+0120 stands for a space */
}

static bool add_vocabulary(cJSON *model, const synth_ids *ids)
{
    /* cJSON finds the end of a list in one step, but a key by search: items are only appended. */
    cJSON *vocabulary = cJSON_AddObjectToObject(model, "vocab");
    char word[16];
    if (vocabulary == NULL) {
        return false;
    }
    add_bytes(vocabulary);
    for (int64_t id = BYTE_COUNT; id < ids->end_of_text; id++) {
        made_word((uint64_t)(id - BYTE_COUNT), word);
        if (cJSON_AddNumberToObject(vocabulary, word, (double)id) == NULL) {
            return false;
        }
    }
    return cJSON_AddArrayToObject(model, "merges") != NULL;
}

/* One added token, as an entry of a list (with its id) or of an object. */
static cJSON *added_token(int index)
{
    static const char *const off[] = {"single_word", "lstrip", "rstrip", "normalized"};
    cJSON *token = cJSON_CreateObject();
    cJSON_AddStringToObject(token, "content", ADDED[index]);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        cJSON_AddFalseToObject(token, off[i]);
    }
    cJSON_AddBoolToObject(token, "special", index < SPECIAL_COUNT);
    return token;
}

/* The stages around the model: those of the published tokenizers. */
static const char STAGES[] =
    "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, \"added_tokens\": [],"
    " \"normalizer\": {\"type\": \"NFC\"},"
    " \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": ["
    "  {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    "|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*"
    "|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}, \"behavior\": \"Isolated\", \"invert\": "
    "false},"
    "  {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": false,"
    "   \"use_regex\": false}]},"
    " \"post_processor\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false,"
    "  \"trim_offsets\": false, \"use_regex\": false},"
    " \"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false,"
    "  \"trim_offsets\": false, \"use_regex\": false},"
    " \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null,"
    "  \"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": \"\", \"fuse_unk\": false,"
    "  \"byte_fallback\": false, \"ignore_merges\": false}}";

bool synth_tokenizer_write(const char *folder, const synth_ids *ids)
{
    cJSON *tokenizer = cJSON_Parse(STAGES);
    cJSON *config = cJSON_Parse("{\"add_bos_token\": false, \"add_prefix_space\": false,"
                                " \"added_tokens_decoder\": {}, \"bos_token\": null,"
                                " \"clean_up_tokenization_spaces\": false,"
                                " \"eos_token\": \"<|im_end|>\", \"errors\": \"replace\","
                                " \"model_max_length\": 262144,"
                                " \"pad_token\": \"<|endoftext|>\","
                                " \"split_special_tokens\": false,"
                                " \"tokenizer_class\": \"Qwen2Tokenizer\", \"unk_token\": null}");
    bool good =
        tokenizer != NULL && config != NULL && add_vocabulary(member(tokenizer, "model"), ids);
    for (int i = 0; good && i < ADDED_COUNT; i++) {
        char key[24];
        cJSON *token = added_token(i);
        cJSON_AddNumberToObject(token, "id", (double)(ids->end_of_text + i));
        cJSON_AddItemToArray(member(tokenizer, "added_tokens"), token);
        snprintf(key, sizeof key, "%" PRId64, ids->end_of_text + i);
        good = cJSON_AddItemToObject(member(config, "added_tokens_decoder"), key, added_token(i));
    }
    if (!good) {
        report_error("no memory");
        cJSON_Delete(tokenizer);
        cJSON_Delete(config);
        return false;
    }
    good = json_file_write(folder, "tokenizer.json", tokenizer);
    if (!good) {
        cJSON_Delete(config);
        return false;
    }
    return json_file_write(folder, "tokenizer_config.json", config);
}
