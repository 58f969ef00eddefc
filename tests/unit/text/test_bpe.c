/* test_bpe.c - ids and bytes against recorded ones, runs and their borders, long words, and
 * tokenizer files that must be refused. */
#define _POSIX_C_SOURCE 200809L
#include "text/bpe.h"

#include "tests/unit/text/text_fixture.h"

#include <dirent.h>

static oc_bpe *open_at(const char *directory, size_t id_limit)
{
    oc_bpe *bpe;
    ocelli_error err;
    ocelli_status status = oc_bpe_open(&bpe, directory, id_limit, &err);
    cr_assert_eq(status, OCELLI_OK, "%s", status != OCELLI_OK ? err.message : "");
    return bpe;
}

static void expect_list(const oc_ids *ids, const int32_t *wanted, size_t count)
{
    cr_assert_eq(ids->count, count, "%zu ids, not %zu", ids->count, count);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(ids->ids[i], wanted[i], "id %zu is %d, not %d", i, (int)ids->ids[i],
                     (int)wanted[i]);
    }
}

/* ---- recorded ids --------------------------------------------------------------------------- */

#ifdef OCELLI_HAVE_UTF8PROC

Test(bpe, encodes_the_recorded_strings)
{
    oc_bpe *bpe = open_real_tokenizer();
    cJSON *cases = read_golden("tokenizer/encode.json");
    size_t count = 0;
    for (const cJSON *entry = cases->child; entry != NULL; entry = entry->next, count++) {
        const char *decoded = field(entry, "decoded_utf8_hex")->valuestring;
        oc_buffer text = {0};
        oc_ids ids = {0};
        unhex(decoded, &text);
        if (text.length == 0 || memchr(text.data, '\0', text.length) == NULL) {
            const char *plain = field(entry, "text")->valuestring;
            oc_buffer_clear(&text);
            cr_assert_eq(oc_buffer_append_text(&text, plain, NULL), OCELLI_OK);
        } /* else cJSON's strings end at the NUL: what it decodes to encodes to the same */
        encode_one(bpe, text.data, text.length, true, &ids);
        expect_ids(&ids, field(entry, "ids"), text.data);
        oc_buffer_clear(&text);
        decode_all(bpe, ids.ids, ids.count, false, &text);
        expect_bytes(&text, decoded, "decoded");
        oc_buffer_clear(&text);
        decode_all(bpe, ids.ids, ids.count, true, &text);
        expect_bytes(&text, field(entry, "decoded_skip_special_utf8_hex")->valuestring, "skipping");
        oc_buffer_close(&text);
        oc_ids_close(&ids);
    }
    cr_assert_eq(count, 259);
    cJSON_Delete(cases);
    oc_bpe_close(bpe);
}

Test(bpe, decodes_the_recorded_ids)
{
    oc_bpe *bpe = open_real_tokenizer();
    cJSON *cases = read_golden("tokenizer/decode_ids.json");
    size_t count = 0;
    for (const cJSON *entry = cases->child; entry != NULL; entry = entry->next, count++) {
        oc_buffer text = {0};
        for (const cJSON *id = field(entry, "ids")->child; id != NULL; id = id->next) {
            int32_t one = (int32_t)id->valuedouble;
            decode_all(bpe, &one, 1, false, &text);
        }
        expect_bytes(&text, field(entry, "bytes_hex")->valuestring, "ids");
        oc_buffer_close(&text);
    }
    cr_assert_eq(count, 30);
    cJSON_Delete(cases);
    oc_bpe_close(bpe);
}

/* Every case of the golden models: prompts with expanded pads in, greedy answers out. */
Test(bpe, small_tokenizers_give_the_golden_prompts)
{
    DIR *list = opendir(GOLDEN "/cases");
    cr_assert_not_null(list);
    size_t count = 0;
    for (struct dirent *item = readdir(list); item != NULL; item = readdir(list)) {
        if (item->d_name[0] != 'c') {
            continue;
        }
        char name[FILE_PATH];
        snprintf(name, sizeof name, "cases/%s/case.json", item->d_name);
        cJSON *entry = read_golden(name);
        snprintf(name, sizeof name, GOLDEN "/models/%s", field(entry, "model")->valuestring);
        oc_bpe *bpe = open_at(name, 2048);
        oc_ids ids = {0};
        oc_buffer text = {0};
        const char *prompt = field(entry, "expanded_prompt")->valuestring;
        encode_one(bpe, prompt, strlen(prompt), true, &ids);
        expect_ids(&ids, field(entry, "input_ids"), item->d_name);
        ids.count = 0;
        for (const cJSON *id = field(entry, "greedy_tokens")->child; id != NULL; id = id->next) {
            cr_assert_eq(oc_ids_push(&ids, (int32_t)id->valuedouble, NULL), OCELLI_OK);
        }
        decode_all(bpe, ids.ids, ids.count, false, &text);
        expect_bytes(&text, field(entry, "greedy_bytes_hex")->valuestring, item->d_name);
        oc_buffer_clear(&text);
        decode_all(bpe, ids.ids, ids.count, true, &text);
        expect_bytes(&text, field(entry, "greedy_bytes_hex_skip_special")->valuestring,
                     item->d_name);
        oc_buffer_close(&text);
        oc_ids_close(&ids);
        cJSON_Delete(entry);
        oc_bpe_close(bpe);
        count++;
    }
    closedir(list);
    cr_assert_eq(count, 16);
}

static void encode_runs(const oc_bpe *bpe, const oc_text_run *runs, size_t count, oc_ids *ids)
{
    ids->count = 0;
    cr_assert_eq(oc_bpe_encode(bpe, runs, count, ids, NULL), OCELLI_OK);
}

Test(bpe, runs_are_one_text_but_for_added_tokens)
{
    oc_bpe *bpe = open_real_tokenizer();
    oc_ids ids = {0};
    oc_ids whole = {0};
    /* The pre-tokeniser and merges reach across: "Hel" "lo, wor" "ld" is "Hello, world". */
    encode_runs(bpe,
                (const oc_text_run[]){{"Hel", 3, false}, {"lo, wor", 7, true}, {"ld!", 3, false}},
                3, &ids);
    expect_list(&ids, (const int32_t[]){9707, 11, 1879, 0}, 4);
    /* So does NFC: e, then the acute. */
    encode_runs(bpe,
                (const oc_text_run[]){{"caf", 3, true}, {"e", 1, false}, {"\314\201", 2, true}}, 3,
                &ids);
    encode_one(bpe, "caf\303\251", 5, false, &whole);
    expect_list(&ids, whole.ids, whole.count);
    /* An added token must lie in one special run. */
    encode_runs(bpe, (const oc_text_run[]){{"<|im_end|>", 10, true}}, 1, &ids);
    expect_list(&ids, (const int32_t[]){151645}, 1);
    encode_runs(bpe, (const oc_text_run[]){{"<|im_end|>", 10, false}}, 1, &ids);
    expect_list(&ids, (const int32_t[]){27, 91, 318, 6213, 91, 29}, 6);
    encode_runs(bpe, (const oc_text_run[]){{"<|im_", 5, true}, {"end|>", 5, true}}, 2, &ids);
    expect_list(&ids, (const int32_t[]){27, 91, 318, 6213, 91, 29}, 6);
    encode_runs(bpe, (const oc_text_run[]){{"<|im_", 5, false}, {"end|>", 5, true}}, 2, &ids);
    expect_list(&ids, (const int32_t[]){27, 91, 318, 6213, 91, 29}, 6);
    /* NFC does not reach across one: the acute stays alone behind it. */
    encode_runs(bpe, (const oc_text_run[]){{"e<|im_end|>\314\201", 13, true}}, 1, &ids);
    whole.count = 0;
    encode_one(bpe, "\314\201", 2, false, &whole);
    cr_assert_eq(ids.count, 2 + whole.count);
    cr_assert_eq(ids.ids[0], 68);
    cr_assert_eq(ids.ids[1], 151645);
    cr_assert_eq(memcmp(ids.ids + 2, whole.ids, whole.count * sizeof *whole.ids), 0);
    /* Nothing at all. */
    encode_runs(bpe, NULL, 0, &ids);
    cr_assert_eq(ids.count, 0);
    encode_runs(bpe, (const oc_text_run[]){{NULL, 0, true}, {"", 0, false}}, 2, &ids);
    cr_assert_eq(ids.count, 0);
    oc_ids_close(&ids);
    oc_ids_close(&whole);
    oc_bpe_close(bpe);
}

/* Text without a blank is one word of any length. A merge that searched the whole word each time
 * would not come back from this. */
Test(bpe, long_words_are_encoded_whole)
{
    static const struct {
        const char *unit;
        size_t times;
        int32_t id;
        size_t units_per_id;
    } words[] = {
        {"a", 1000000, 69440, 8}, /* "aaaaaaaa" */
        {"<|im_start|>", 50000, 151644, 1},
    };
    oc_bpe *bpe = open_real_tokenizer();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        oc_buffer text = {0};
        oc_buffer back = {0};
        oc_ids ids = {0};
        for (size_t j = 0; j < words[i].times; j++) {
            cr_assert_eq(oc_buffer_append_text(&text, words[i].unit, NULL), OCELLI_OK);
        }
        encode_one(bpe, text.data, text.length, true, &ids);
        cr_assert_eq(ids.count, words[i].times / words[i].units_per_id, "%zu ids", ids.count);
        for (size_t j = 0; j < ids.count; j++) {
            cr_assert_eq(ids.ids[j], words[i].id, "id %zu is %d", j, (int)ids.ids[j]);
        }
        decode_all(bpe, ids.ids, ids.count, false, &back);
        cr_assert(back.length == text.length && memcmp(back.data, text.data, text.length) == 0);
        oc_buffer_close(&text);
        oc_buffer_close(&back);
        oc_ids_close(&ids);
    }
    oc_bpe_close(bpe);
}

#endif

Test(bpe, looks_up_ids_and_texts)
{
    oc_bpe *bpe = open_real_tokenizer();
    size_t length = 99;
    cr_assert_eq(oc_bpe_size(bpe), 151669);
    cr_assert_eq(oc_bpe_find_added(bpe, "<|im_end|>"), 151645);
    cr_assert_eq(oc_bpe_find_added(bpe, "<|image_pad|>"), 151655);
    cr_assert_eq(oc_bpe_find_added(bpe, "</think>"), 151668);
    cr_assert_eq(oc_bpe_find_added(bpe, " world"), 1879);
    cr_assert_eq(oc_bpe_find_added(bpe, "<|no_such|>"), -1);
    cr_assert_eq(oc_bpe_find_added(bpe, ""), -1);
    cr_assert(oc_bpe_is_special(bpe, 151643) && oc_bpe_is_special(bpe, 151656));
    cr_assert_not(oc_bpe_is_special(bpe, 151657) || oc_bpe_is_special(bpe, 151668));
    cr_assert_not(oc_bpe_is_special(bpe, 0) || oc_bpe_is_special(bpe, -1) ||
                  oc_bpe_is_special(bpe, 151669) || oc_bpe_is_special(bpe, INT32_MAX));
    cr_assert_eq(memcmp(oc_bpe_bytes(bpe, 1879, &length), " world", 6), 0);
    cr_assert_eq(length, 6);
    for (int i = 0; i < 4; i++) {
        static const int32_t absent[4] = {-1, 151669, INT32_MAX, INT32_MIN};
        length = 99;
        cr_assert_not_null(oc_bpe_bytes(bpe, absent[i], &length));
        cr_assert_eq(length, 0);
    }
    oc_bpe_close(bpe);
    oc_bpe_close(NULL);
}

Test(bpe, text_that_is_not_utf8_is_refused)
{
    static const char *const bad[] = {"ab\377", "\303", "\355\240\200", "ok \200"};
    oc_bpe *bpe = open_at(GOLDEN "/models/t1_f32", 512);
    oc_ids ids = {0};
    cr_assert_eq(oc_ids_push(&ids, 7, NULL), OCELLI_OK);
    for (size_t i = 0; i < 4; i++) {
        ocelli_error err;
        const oc_text_run runs[] = {{"fine <|im_end|> fine", 20, true},
                                    {bad[i], strlen(bad[i]), i % 2 == 0}};
        cr_assert_eq(oc_bpe_encode(bpe, runs, 2, &ids, &err), OCELLI_E_ARGUMENT);
        cr_assert_eq(ids.count, 1, "what was there stays, nothing is added");
    }
    /* A character may not be cut between two runs either. */
    const oc_text_run cut[] = {{"\303", 1, false}, {"\251", 1, false}};
    cr_assert_eq(oc_bpe_encode(bpe, cut, 2, &ids, NULL), OCELLI_E_ARGUMENT);
    oc_ids_close(&ids);
    oc_bpe_close(bpe);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void copy_file(const folder *where, const char *model, const char *name)
{
    char path[FILE_PATH];
    size_t size;
    snprintf(path, sizeof path, GOLDEN "/models/%s/%s", model, name);
    char *bytes = read_whole(path, &size);
    folder_write(where, name, bytes, size);
    free(bytes);
}

Test(bpe, the_older_files_are_the_same_tokenizer)
{
    folder where = folder_open();
    copy_file(&where, "t1_f32", "vocab.json");
    copy_file(&where, "t1_f32", "merges.txt");
    copy_file(&where, "t1_f32", "tokenizer_config.json");
    oc_bpe *old = open_at(where.path, 512);
    oc_bpe *new = open_at(GOLDEN "/models/t1_f32", 512);
    cr_assert_eq(oc_bpe_size(old), oc_bpe_size(new));
    for (int32_t id = 0; id < (int32_t)oc_bpe_size(new); id++) {
        size_t old_length;
        size_t new_length;
        const char *a = oc_bpe_bytes(old, id, &old_length);
        const char *b = oc_bpe_bytes(new, id, &new_length);
        cr_assert(old_length == new_length && memcmp(a, b, new_length) == 0, "id %d", (int)id);
        cr_assert_eq(oc_bpe_is_special(old, id), oc_bpe_is_special(new, id), "id %d", (int)id);
    }
    static const char text[] = "<|im_start|>user\nthe thing in there, is it the end?<think>";
    oc_ids a = {0};
    oc_ids b = {0};
    encode_one(old, text, sizeof text - 1, true, &a);
    encode_one(new, text, sizeof text - 1, true, &b);
    expect_list(&a, b.ids, b.count);
    oc_ids_close(&a);
    oc_ids_close(&b);
    oc_bpe_close(old);
    oc_bpe_close(new);

    ocelli_error err;
    folder_write_text(&where, "tokenizer_config.json", "{\"tokenizer_class\": \"LlamaTokenizer\"}");
    cr_assert_eq(oc_bpe_open(&old, where.path, 512, &err), OCELLI_E_UNSUPPORTED);
    cr_assert_null(old);
    cr_assert_not_null(strstr(err.message, "LlamaTokenizer"));
    folder_write_text(&where, "tokenizer_config.json", "{\"tokenizer_class\": \"Qwen2Tokenizer\"}");
    cr_assert_eq(oc_bpe_open(&old, where.path, 512, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "tokenizer.json"), "%s", err.message);
    folder_write_text(
        &where, "tokenizer_config.json",
        "{\"tokenizer_class\": \"Qwen2Tokenizer\", \"added_tokens_decoder\": {\"12x\": "
        "{\"content\": \"<a>\"}}}");
    cr_assert_eq(oc_bpe_open(&old, where.path, 512, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "12x"), "%s", err.message);
    folder_write(&where, "merges.txt", "a\0b c\n", 6);
    cr_assert_eq(oc_bpe_open(&old, where.path, 512, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "merges.txt"), "%s", err.message);
    folder_close(&where);
}

Test(bpe, a_folder_without_a_tokenizer_names_the_file)
{
    folder where = folder_open();
    ocelli_error err;
    oc_bpe *bpe = (oc_bpe *)&err;
    cr_assert_eq(oc_bpe_open(&bpe, where.path, 512, &err), OCELLI_E_IO);
    cr_assert_null(bpe);
    cr_assert_not_null(strstr(err.message, "tokenizer.json"), "%s", err.message);
    folder_close(&where);
}

/* A tokenizer.json made here: 256 bytes, ids 0 to 255 in the order of the alphabet's characters,
 * "ab" 256, "abc" 257, and two added tokens. */
static const char head[] =
    "{\"added_tokens\": [{\"id\": 258, \"content\": \"<|a|>\", \"special\": true}, "
    "{\"id\": 259, \"content\": \"<|a|>b\", \"special\": false}], "
    "\"normalizer\": {\"type\": \"NFC\"}, "
    "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Split\", "
    "\"pattern\": {\"Regex\": "
    "\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|"
    "\\\\p{N}| "
    "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}, "
    "\"behavior\": \"Isolated\", \"invert\": false}, {\"type\": \"ByteLevel\", "
    "\"add_prefix_space\": "
    "false, \"use_regex\": false}]}, \"post_processor\": {\"type\": \"ByteLevel\"}, "
    "\"decoder\": {\"type\": \"ByteLevel\"}, "
    "\"model\": {\"type\": \"BPE\", \"ignore_merges\": false, \"vocab\": {";
static const char tail[] = "\"ab\": 256, \"abc\": 257}, \"merges\": [\"a b\", [\"ab\", \"c\"]]}}";

static void make_tokenizer(oc_buffer *out)
{
    cr_assert_eq(oc_buffer_append_text(out, head, NULL), OCELLI_OK);
    int id = 0;
    for (unsigned code = 0x21; code <= 0x143; code++) {
        bool in_alphabet = (code <= 0x7e) || (code >= 0xa1 && code != 0xad);
        char entry[32];
        if (in_alphabet) {
            snprintf(entry, sizeof entry, "\"\\u%04x\": %d, ", code, id++);
            cr_assert_eq(oc_buffer_append_text(out, entry, NULL), OCELLI_OK);
        }
    }
    cr_assert_eq(id, 256);
    cr_assert_eq(oc_buffer_append_text(out, tail, NULL), OCELLI_OK);
}

Test(bpe, added_tokens_match_the_longest_first)
{
    folder where = folder_open();
    oc_buffer json = {0};
    make_tokenizer(&json);
    folder_write(&where, "tokenizer.json", json.data, json.length);
    oc_bpe *bpe = open_at(where.path, 260);
    oc_ids ids = {0};
    /* < | a are 27, 91, 64: characters from U+0021 on. */
    encode_one(bpe, "<|a|>c<|a|>bc<|a|<|a|>", 22, true, &ids);
    expect_list(&ids, (const int32_t[]){258, 66, 259, 66, 27, 91, 64, 91, 258}, 9);
    ids.count = 0;
    encode_one(bpe, "abcababc", 8, true, &ids); /* merges: ab first, then abc */
    expect_list(&ids, (const int32_t[]){257, 256, 257}, 3);
    oc_ids_close(&ids);
    oc_bpe_close(bpe);
    oc_buffer_close(&json);
    folder_close(&where);
}

/* One edit of the file above: the first occurrence of a text replaced. */
typedef struct edit {
    const char *find, *replace;
    ocelli_status status;
    const char *says; /* part of the message; NULL: it must open */
} edit;

static const edit edits[] = {
    {"BPE", "BPE", OCELLI_OK, NULL},
    /* harmless variations */
    {"\"post_processor\": {\"type\": \"ByteLevel\"}", "\"post_processor\": null", OCELLI_OK, NULL},
    {"{\"type\": \"NFC\"}", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}]}",
     OCELLI_OK, NULL},
    {"\"ignore_merges\": false", "\"unk_token\": \"abc\", \"dropout\": null", OCELLI_OK, NULL},
    {"\"ignore_merges\": false", "\"end_of_word_suffix\": \"\", \"byte_fallback\": false",
     OCELLI_OK, NULL},
    {"\"abc\": 257", "\"abc\": 257, \"\\u4e2d\": 255.0e0, \"x\\u4e2d\": 258", OCELLI_E_FORMAT,
     "255"},
    {"\"content\": \"<|a|>b\"", "\"content\": \"abc\", \"rstrip\": false", OCELLI_E_FORMAT, "259"},
    {"259, \"content\": \"<|a|>b\"", "257, \"content\": \"abc\"", OCELLI_OK, NULL},
    /* other pipelines */
    {"BPE", "Unigram", OCELLI_E_UNSUPPORTED, "Unigram"},
    {"\"type\": \"BPE\", ", "", OCELLI_OK, NULL},
    {"\"BPE\"", "7", OCELLI_E_UNSUPPORTED, "model.type"},
    {"NFC", "Lowercase", OCELLI_E_UNSUPPORTED, "Lowercase"},
    {"{\"type\": \"NFC\"}", "null", OCELLI_E_UNSUPPORTED, "nothing"},
    {"{\"type\": \"NFC\"}",
     "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}, {\"type\": \"Strip\"}]}",
     OCELLI_E_UNSUPPORTED, "Sequence"},
    {"\\\\p{N}| ?", "\\\\p{N}{1,3}| ?", OCELLI_E_UNSUPPORTED, "{1,3}"},
    {"\"Regex\"", "\"String\"", OCELLI_E_UNSUPPORTED, "pre_tokenizer"},
    {"\"type\": \"Split\"", "\"type\": \"Whitespace\"", OCELLI_E_UNSUPPORTED, "Whitespace"},
    {"Isolated", "Removed", OCELLI_E_UNSUPPORTED, "Isolated"},
    {"\"invert\": false", "\"invert\": true", OCELLI_E_UNSUPPORTED, "inverted"},
    {", {\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}", "",
     OCELLI_E_UNSUPPORTED, "ByteLevel"},
    {"\"add_prefix_space\": false", "\"add_prefix_space\": true", OCELLI_E_UNSUPPORTED,
     "add_prefix"},
    {", \"use_regex\": false", "", OCELLI_E_UNSUPPORTED, "use_regex"},
    {"\"post_processor\": {\"type\": \"ByteLevel\"}",
     "\"post_processor\": {\"type\": \"TemplateProcessing\"}", OCELLI_E_UNSUPPORTED,
     "TemplateProcessing"},
    {"\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": {\"type\": \"Metaspace\"}",
     OCELLI_E_UNSUPPORTED, "Metaspace"},
    {"\"ignore_merges\": false", "\"ignore_merges\": true", OCELLI_E_UNSUPPORTED, "ignore_merges"},
    {"\"ignore_merges\": false", "\"byte_fallback\": true", OCELLI_E_UNSUPPORTED, "byte_fallback"},
    {"\"ignore_merges\": false", "\"dropout\": 0.1", OCELLI_E_UNSUPPORTED, "dropout"},
    {"\"ignore_merges\": false", "\"continuing_subword_prefix\": \"##\"", OCELLI_E_UNSUPPORTED,
     "continuing_subword_prefix"},
    /* damaged parts */
    {"\"model\"", "\"modell\"", OCELLI_E_FORMAT, "model"},
    {"\"vocab\": {", "\"vocab\": [], \"x\": {", OCELLI_E_FORMAT, "vocab"},
    {"\"merges\": [\"a b\", [\"ab\", \"c\"]]", "\"merges\": \"x\"", OCELLI_E_FORMAT, "merges"},
    {"\"merges\"", "\"mergers\"", OCELLI_E_FORMAT, "merges"},
    {"\"added_tokens\": [", "\"added\": [", OCELLI_E_FORMAT, "added_tokens"},
    {"\"abc\": 257", "\"abc\": 257, \"\": 258", OCELLI_E_FORMAT, "empty"},
    {"\"abc\": 257", "\"abc\": 257, \"\\ud800\": 258", OCELLI_E_FORMAT, "JSON"},
    {"\"abc\": 257", "\"abc\": 257, \"\377\": 258", OCELLI_E_FORMAT, "UTF-8"},
    {"\"abc\": 257", "\"abc\": 256", OCELLI_E_FORMAT, "same id"},
    {"\"abc\": 257", "\"abc\": 257, \"abc\": 257", OCELLI_E_FORMAT, "twice"},
    {"\"abc\": 257", "\"abc\": -1", OCELLI_E_FORMAT, "whole number"},
    {"\"abc\": 257", "\"abc\": 1.5", OCELLI_E_FORMAT, "whole number"},
    {"\"abc\": 257", "\"abc\": null", OCELLI_E_FORMAT, "whole number"},
    {"\"abc\": 257", "\"abc\": \"257\"", OCELLI_E_FORMAT, "whole number"},
    {"\"abc\": 257", "\"abc\": {\"id\": 257}", OCELLI_E_FORMAT, "whole number"},
    {"\"abc\": 257", "\"abc\": 260", OCELLI_E_FORMAT, "260 ids"},
    {"\"abc\": 257", "\"abc\": 1000000000", OCELLI_E_FORMAT, "1000000000"},
    {"\"abc\": 257", "\"abc\": 18446744073709551615", OCELLI_E_FORMAT, "260 ids"},
    {"\"abc\": 257", "\"abc\": 1e999", OCELLI_E_FORMAT, ""},
    {"\"\\u0041\": 32, ", "", OCELLI_E_FORMAT, "0x41"},
    {"\"\\u0143\": 255, ", "", OCELLI_E_FORMAT, "0xAD"},
    {"\"a b\"", "\"ab\"", OCELLI_E_FORMAT, "merge 0"},
    {"\"a b\"", "\"a b c\"", OCELLI_E_FORMAT, "merge 0"},
    {"\"a b\"", "\" b\"", OCELLI_E_FORMAT, "merge 0"},
    {"\"a b\"", "\"a \"", OCELLI_E_FORMAT, "merge 0"},
    {"\"a b\"", "\"\"", OCELLI_E_FORMAT, "merge 0"},
    {"\"a b\"", "7", OCELLI_E_FORMAT, "merge 0"},
    {"[\"ab\", \"c\"]", "[\"ab\"]", OCELLI_E_FORMAT, "merge 1"},
    {"[\"ab\", \"c\"]", "[\"ab\", \"c\", \"d\"]", OCELLI_E_FORMAT, "merge 1"},
    {"[\"ab\", \"c\"]", "[\"ab\", 3]", OCELLI_E_FORMAT, "merge 1"},
    {"[\"ab\", \"c\"]", "[]", OCELLI_E_FORMAT, "merge 1"},
    {"[\"ab\", \"c\"]", "[\"zz\", \"c\"]", OCELLI_E_FORMAT, "zzc"},
    {"[\"ab\", \"c\"]", "[\"a\", \"c\"]", OCELLI_E_FORMAT, "\"ac\""},
    {"{\"id\": 258, ", "{", OCELLI_E_FORMAT, "id"},
    {"{\"id\": 258, ", "{\"id\": -1, ", OCELLI_E_FORMAT, "-1"},
    {"{\"id\": 258, ", "{\"id\": 2147483648, ", OCELLI_E_FORMAT, "2147483648"},
    {"{\"id\": 258, ", "{\"id\": 260, ", OCELLI_E_FORMAT, "260 ids"},
    {"{\"id\": 258, ", "{\"id\": \"x\", ", OCELLI_E_FORMAT, "\"x\""},
    {"{\"id\": 258, ", "{\"id\": 0, ", OCELLI_E_FORMAT, "another token"},
    {"{\"id\": 258, ", "{\"id\": 259, ", OCELLI_E_FORMAT, "another token"},
    {"{\"id\": 258, ", "null, {\"id\": 258, ", OCELLI_E_FORMAT, "id"},
    {"\"content\": \"<|a|>\", ", "", OCELLI_E_FORMAT, "content"},
    {"\"content\": \"<|a|>\"", "\"content\": \"\"", OCELLI_E_FORMAT, "empty"},
    {"\"content\": \"<|a|>\"", "\"content\": \"<|a|>b\"", OCELLI_E_FORMAT, "twice"},
    {"\"content\": \"<|a|>\"", "\"content\": \"\303\"", OCELLI_E_FORMAT, "UTF-8"},
    {"\"special\": true", "\"special\": 1", OCELLI_E_FORMAT, "special"},
    {"\"special\": true", "\"lstrip\": true", OCELLI_E_UNSUPPORTED, "lstrip"},
    {"\"special\": true", "\"single_word\": true", OCELLI_E_UNSUPPORTED, "single_word"},
    {"\"added_tokens\"", "[", OCELLI_E_FORMAT, "JSON"},
};

Test(bpe, damaged_and_foreign_files_are_refused)
{
    folder where = folder_open();
    oc_buffer json = {0};
    make_tokenizer(&json);
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        const edit *e = &edits[i];
        const char *at = strstr(json.data, e->find);
        cr_assert_not_null(at, "edit %zu", i);
        oc_buffer edited = {0};
        cr_assert_eq(oc_buffer_append(&edited, json.data, (size_t)(at - json.data), NULL),
                     OCELLI_OK);
        cr_assert_eq(oc_buffer_append_text(&edited, e->replace, NULL), OCELLI_OK);
        cr_assert_eq(oc_buffer_append_text(&edited, at + strlen(e->find), NULL), OCELLI_OK);
        folder_write(&where, "tokenizer.json", edited.data, edited.length);
        ocelli_error err = {.message = ""};
        oc_bpe *bpe = (oc_bpe *)&err;
        ocelli_status status = oc_bpe_open(&bpe, where.path, 260, &err);
        cr_assert_eq(status, e->status, "edit %zu (%s): %d %s", i, e->replace, (int)status,
                     err.message);
        if (e->says != NULL) {
            cr_assert_null(bpe);
            cr_assert_not_null(strstr(err.message, e->says), "edit %zu: %s", i, err.message);
            cr_assert_not_null(strstr(err.message, "tokenizer.json"), "edit %zu: %s", i,
                               err.message);
        }
        if (status == OCELLI_OK) {
            oc_bpe_close(bpe);
        }
        oc_buffer_close(&edited);
    }
    oc_buffer_close(&json);
    folder_close(&where);
}

/* A file cut anywhere is refused, and so is one that nests without end. */
Test(bpe, cut_and_nested_files_are_refused)
{
    folder where = folder_open();
    oc_buffer json = {0};
    oc_bpe *bpe;
    make_tokenizer(&json);
    for (size_t size = 0; size < json.length; size += 61) {
        folder_write(&where, "tokenizer.json", json.data, size);
        cr_assert_eq(oc_bpe_open(&bpe, where.path, 260, NULL), OCELLI_E_FORMAT, "%zu bytes", size);
        cr_assert_null(bpe);
    }
    oc_buffer_clear(&json);
    cr_assert_eq(oc_buffer_append_text(&json, "{\"model\": ", NULL), OCELLI_OK);
    for (int i = 0; i < 100000; i++) {
        cr_assert_eq(oc_buffer_append(&json, "[", 1, NULL), OCELLI_OK);
    }
    folder_write(&where, "tokenizer.json", json.data, json.length);
    cr_assert_eq(oc_bpe_open(&bpe, where.path, 260, NULL), OCELLI_E_FORMAT);
    oc_buffer_close(&json);
    folder_close(&where);
}

/* Ids with holes are fine: the holes have no bytes. */
Test(bpe, holes_between_ids_have_no_bytes)
{
    folder where = folder_open();
    oc_buffer json = {0};
    make_tokenizer(&json);
    char *at = strstr(json.data, "\"id\": 259");
    cr_assert_not_null(at);
    memcpy(at, "\"id\": 999", 9);
    folder_write(&where, "tokenizer.json", json.data, json.length);
    oc_bpe *bpe = open_at(where.path, 1000);
    size_t length;
    cr_assert_eq(oc_bpe_size(bpe), 1000);
    oc_bpe_bytes(bpe, 500, &length);
    cr_assert_eq(length, 0);
    cr_assert_eq(memcmp(oc_bpe_bytes(bpe, 999, &length), "<|a|>b", 6), 0);
    cr_assert_eq(length, 6);
    oc_bpe_close(bpe);
    ocelli_error err;
    cr_assert_eq(oc_bpe_open(&bpe, where.path, 999, &err), OCELLI_E_FORMAT); /* one id too few */
    oc_buffer_close(&json);
    folder_close(&where);
}
