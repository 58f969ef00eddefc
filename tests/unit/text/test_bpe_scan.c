/* test_bpe_scan.c - the two large tables found in a tokenizer file whatever its order and dress, and
 * what is no JSON refused. */
#define _POSIX_C_SOURCE 200809L
#include "text/bpe_scan.h"

#include "tests/unit/text/text_fixture.h"

static void path_in(const folder *where, char path[FILE_PATH])
{
    snprintf(path, FILE_PATH, "%s/tokenizer.json", where->path);
}

/* Scans a text; the vocabulary and merges must have that many entries, -1: be absent. */
static void expect_spans(const char *text, int words, int merges, const char *rest_is)
{
    folder where = folder_open();
    char path[FILE_PATH];
    oc_bpe_scan scan;
    oc_json rest;
    ocelli_error err = {.message = ""};
    folder_write_text(&where, "tokenizer.json", text);
    path_in(&where, path);
    cr_assert_eq(oc_bpe_scan_open(&scan, path, &err), OCELLI_OK, "%s", err.message);
    cr_assert(oc_hash_equal(scan.hash, oc_hash_bytes(text, strlen(text))));
    cr_assert_eq(oc_bpe_scan_tokenizer(&scan, &rest, &err), OCELLI_OK, "%s: %s", text, err.message);
    cr_assert_eq(scan.vocabulary.begin != NULL ? (int)scan.vocabulary.count : -1, words, "%s",
                 text);
    cr_assert_eq(scan.merges.begin != NULL ? (int)scan.merges.count : -1, merges, "%s", text);
    char *printed = cJSON_PrintUnformatted(rest.tree);
    cr_assert_str_eq(printed, rest_is);
    cJSON_free(printed);
    oc_json_close(&rest);
    oc_bpe_scan_close(&scan);
    folder_close(&where);
}

Test(bpe_scan, finds_the_tables_and_leaves_the_rest)
{
    expect_spans("{}", -1, -1, "{}");
    expect_spans("{\"model\":{\"vocab\":{\"a\":1,\"b\":2},\"merges\":[\"a b\",[\"b\",\"a\"],7]},"
                 "\"added_tokens\":[1,2]}",
                 2, 3, "{\"model\":{\"vocab\":{},\"merges\":[]},\"added_tokens\":[1,2]}");
    /* the other order, white space, a byte order mark, an escape in a key */
    expect_spans("\xef\xbb\xbf {\r\n\"x\" : [ { \"model\" : 1 } ] ,\t\"model\" : { \"merges\" : [ "
                 "\"a b\" ] , \"voc\\u0061b\" : { \"a\" : 1 } , \"y\" : { } } } \n",
                 1, 1, "{\"x\":[{\"model\":1}],\"model\":{\"merges\":[],\"vocab\":{},\"y\":{}}}");
    /* only those of the top-level model, and the first of each */
    expect_spans("{\"vocab\":{\"a\":1},\"merges\":[1]}", -1, -1,
                 "{\"vocab\":{\"a\":1},\"merges\":[1]}");
    expect_spans("{\"model\":{\"vocab\":{},\"merges\":[],\"vocab\":{\"a\":1},\"merges\":[1]},"
                 "\"model\":{\"vocab\":{\"a\":1,\"b\":2}}}",
                 0, 0,
                 "{\"model\":{\"vocab\":{},\"merges\":[],\"vocab\":{\"a\":1},\"merges\":[1]},"
                 "\"model\":{\"vocab\":{\"a\":1,\"b\":2}}}");
    /* values of another kind stay where the checks find them */
    expect_spans("{\"model\":{\"vocab\":[[\"a\",1]],\"merges\":{\"a\":1}}}", -1, -1,
                 "{\"model\":{\"vocab\":[[\"a\",1]],\"merges\":{\"a\":1}}}");
    expect_spans("{\"model\":[1]}", -1, -1, "{\"model\":[1]}");
}

Test(bpe_scan, what_is_no_json_is_refused)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "[]",
                                      "{",
                                      "{}}",
                                      "{,}",
                                      "{\"a\":1,}",
                                      "{\"a\" 1}",
                                      "{\"model\":{\"vocab\":{\"a\":1,}}}",
                                      "{\"model\":{\"vocab\":{\"a\"}}}",
                                      "{\"model\":{\"vocab\":{\"a\":}}}",
                                      "{\"model\":{\"vocab\":{a:1}}}",
                                      "{\"model\":{\"vocab\":{\"\\u0000\":1}}}",
                                      "{\"model\":{\"vocab\":{\"\\ud800\":1}}}",
                                      "{\"model\":{\"vocab\":{\"a\":01}}}",
                                      "{\"model\":{\"merges\":[1 2]}}",
                                      "{\"model\":{\"merges\":[1,]}}",
                                      "{\"model\":{\"merges\":[\"\x01\"]}}",
                                      "{\"model\":{\"merges\":[\"\xc3\"]}}"};
    folder where = folder_open();
    char path[FILE_PATH];
    path_in(&where, path);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        oc_bpe_scan scan;
        oc_json rest;
        ocelli_error err = {.message = ""};
        folder_write_text(&where, "tokenizer.json", bad[i]);
        ocelli_status status = oc_bpe_scan_open(&scan, path, &err);
        if (status == OCELLI_OK) {
            status = oc_bpe_scan_tokenizer(&scan, &rest, &err);
            cr_assert_null(rest.tree);
        }
        oc_bpe_scan_close(&scan);
        cr_assert_eq(status, OCELLI_E_FORMAT, "%zu: %s", i, bad[i]);
        cr_assert_not_null(strstr(err.message, "JSON"), "%zu: %s", i, err.message);
        cr_assert_not_null(strstr(err.message, path), "%zu: %s", i, err.message);
    }
    folder_close(&where);
}

/* A file whose merges come before its vocabulary is the same tokenizer. */
Test(bpe_scan, order_in_the_file_does_not_matter)
{
    folder where = folder_open();
    oc_bpe *plain, *turned;
    ocelli_error err = {.message = ""};
    size_t a_size, b_size;
    cJSON *tree = read_golden("models/t1_f32/tokenizer.json");
    cJSON *model = cJSON_GetObjectItemCaseSensitive(tree, "model");
    cJSON_AddItemToObject(model, "vocab", cJSON_DetachItemFromObjectCaseSensitive(model, "vocab"));
    char *text = cJSON_Print(tree);
    cJSON_Delete(tree);
    cr_assert_gt(strstr(text, "\"vocab\""), strstr(text, "\"merges\""));
    folder_write_text(&where, "tokenizer.json", text);
    cJSON_free(text);
    cr_assert_eq(oc_bpe_open(&turned, where.path, 2048, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_bpe_open(&plain, GOLDEN "/models/t1_f32", 2048, &err), OCELLI_OK);
    /* All but the header, which has the file's hash. */
    const char *a = oc_bpe_image(plain, &a_size);
    const char *b = oc_bpe_image(turned, &b_size);
    cr_assert_eq(a_size, b_size);
    cr_assert_eq(memcmp(a + 64, b + 64, a_size - 64), 0);
    cr_assert(!oc_hash_equal(oc_bpe_source(plain), oc_bpe_source(turned)));
    oc_bpe_close(plain);
    oc_bpe_close(turned);
    folder_close(&where);
}
