/* test_json.c - values of a JSON file, and the sentences about wrong ones. */
#include "runtime/base/json.h"

#include <criterion/criterion.h>
#include <string.h>

static oc_json parse(const char *text)
{
    oc_json json;
    ocelli_error err = {0};
    cr_assert_eq(oc_json_parse(&json, "config.json", text, strlen(text), &err), OCELLI_OK, "%s",
                 err.message);
    return json;
}

static void expect_bad(const char *text, size_t size, const char *reason)
{
    oc_json json;
    ocelli_error err = {0};
    cr_assert_eq(oc_json_parse(&json, "config.json", text, size, &err), OCELLI_E_FORMAT, "%s",
                 text);
    cr_assert_null(json.tree);
    cr_assert_null(json.name);
    cr_assert_not_null(strstr(err.message, "config.json"));
    cr_assert_not_null(strstr(err.message, reason), "%s", err.message);
}

Test(json, refuses_what_is_not_one_object)
{
    expect_bad("", 0, "not valid JSON");
    expect_bad("{\"a\": ", 6, "not valid JSON");
    expect_bad("{'a': 1}", 8, "not valid JSON");
    expect_bad("[1, 2]", 6, "expected a JSON object");
    expect_bad("\"text\"", 6, "expected a JSON object");
    expect_bad("{} {}", 5, "bytes after the JSON value at byte 3");
    expect_bad("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1519\n", 69,
               "is a Git LFS pointer, not the file: run git lfs pull");
    expect_bad("<!DOCTYPE html><html>", 21, "is a web page, not the file: download it again");
    expect_bad("{}\0x", 4, "a NUL byte at byte 2");
    expect_bad("{\"a\": \"\0\"}", 10, "a NUL byte at byte 7");
    oc_json json = parse("\xef\xbb\xbf {\"a\": 1} \r\n\t");
    cr_assert(oc_json_has(oc_json_top(&json), "a"));
    oc_json_close(&json);
}

/* Deeper than the parser's own limit: an error, not a stack overflow. */
Test(json, depth_is_bounded)
{
    enum { DEPTH = 200000 };
    static char text[DEPTH + 8];
    memcpy(text, "{\"a\":", 5);
    memset(text + 5, '[', DEPTH);
    expect_bad(text, DEPTH + 5, "not valid JSON");
}

/* Each would take a hundred bytes of memory: refused before any of them does. */
Test(json, too_many_values)
{
    enum { MOST = 1000000 };
    static const char head[] = "{\"list\": [0", tail[] = "]}";
    char *text = malloc(2 * MOST + sizeof head + sizeof tail);
    oc_json json;
    ocelli_error err = {0};
    cr_assert_not_null(text);
    for (size_t more = 0; more < 2; more++) { /* the object, the list and its numbers */
        size_t length = sizeof head - 1, numbers = MOST - 2 + more;
        memcpy(text, head, length);
        for (size_t i = 1; i < numbers; i++) {
            text[length++] = ',';
            text[length++] = '0';
        }
        memcpy(text + length, tail, sizeof tail - 1);
        length += sizeof tail - 1;
        ocelli_status status = oc_json_parse(&json, "config.json", text, length, &err);
        cr_assert_eq(status, more == 0 ? OCELLI_OK : OCELLI_E_FORMAT);
        cr_assert(more == 0 || strcmp(err.message,
                                      "config.json: holds more than 1000000 values: not a model's "
                                      "file") == 0,
                  "%s", err.message);
        oc_json_close(&json);
    }
    free(text);
}

Test(json, whole_numbers)
{
    oc_json json =
        parse("{\"n\": 12, \"half\": 1.5, \"text\": \"12\", \"null\": null, \"big\": 1e300,"
              "\"edge\": 9007199254740992, \"minus\": -3,"
              "\"inner\": {\"depth\": 99, \"list\": [1]}}");
    oc_json_object top = oc_json_top(&json);
    ocelli_error err = {0};
    int64_t value = -1;
    cr_assert_eq(oc_json_int(top, "n", 1, 12, &value, &err), OCELLI_OK);
    cr_assert_eq(value, 12);
    cr_assert_eq(oc_json_int(top, "minus", -3, 0, &value, &err), OCELLI_OK);
    cr_assert_eq(value, -3);
    cr_assert_eq(oc_json_int(top, "edge", 0, INT64_MAX, &value, &err), OCELLI_OK);
    cr_assert_eq(value, INT64_C(9007199254740992));

    static const struct {
        const char *key, *message;
    } wrong[] = {
        {"n", "config.json: n: expected a whole number from 1 to 11, found 12"},
        {"half", "config.json: half: expected a whole number from 1 to 11, found 1.5"},
        {"text", "config.json: text: expected a whole number from 1 to 11, found \"12\""},
        {"null", "config.json: null: expected a whole number from 1 to 11, found nothing"},
        {"gone", "config.json: gone: expected a whole number from 1 to 11, found nothing"},
        {"inner", "config.json: inner: expected a whole number from 1 to 11, found an object"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        value = 77;
        cr_assert_eq(oc_json_int(top, wrong[i].key, 1, 11, &value, &err), OCELLI_E_FORMAT);
        cr_assert_str_eq(err.message, wrong[i].message);
        cr_assert_eq(value, 0);
    }
    cr_assert_eq(oc_json_int(top, "big", 0, INT64_MAX, &value, &err), OCELLI_E_FORMAT);

    oc_json_object inner, none;
    cr_assert_eq(oc_json_child(top, "inner", &inner, &err), OCELLI_OK);
    cr_assert_eq(oc_json_int(inner, "depth", 0, 10, &value, &err), OCELLI_E_FORMAT);
    cr_assert_str_eq(err.message,
                     "config.json: inner.depth: expected a whole number from 0 to 10, found 99");
    cr_assert_eq(oc_json_int(inner, "list", 0, 10, &value, &err), OCELLI_E_FORMAT);
    cr_assert_not_null(strstr(err.message, "found a list"));

    /* A child that is absent or null has no keys; one that is no object is refused. */
    cr_assert_eq(oc_json_child(top, "n", &none, &err), OCELLI_E_FORMAT);
    cr_assert_str_eq(err.message, "config.json: n: expected an object, found 12");
    cr_assert_eq(oc_json_child(top, "null", &none, &err), OCELLI_OK);
    cr_assert_null(none.node);
    cr_assert_eq(oc_json_child(top, "gone", &none, &err), OCELLI_OK);
    cr_assert_not(oc_json_has(none, "depth"));
    cr_assert_eq(oc_json_int_or(none, "depth", 0, 9, 5, &value, &err), OCELLI_OK);
    cr_assert_eq(value, 5);
    cr_assert_eq(oc_json_int_or(top, "null", 0, 9, 6, &value, &err), OCELLI_OK);
    cr_assert_eq(value, 6);
    cr_assert_eq(oc_json_int_or(top, "n", 0, 9, 6, &value, &err), OCELLI_E_FORMAT);
    oc_json_close(&json);
}

Test(json, numbers_strings_and_truth)
{
    oc_json json = parse("{\"eps\": 1e-6, \"name\": \"ocelli\", \"yes\": true, \"no\": false}");
    oc_json_object top = oc_json_top(&json);
    ocelli_error err = {0};
    double number = 9;
    const char *text = NULL;
    bool truth = false;
    cr_assert_eq(oc_json_double(top, "eps", 0, 1, &number, &err), OCELLI_OK);
    cr_assert_eq(number, 1e-6);
    cr_assert_eq(oc_json_double(top, "eps", 1e-3, 1, &number, &err), OCELLI_E_FORMAT);
    cr_assert_str_eq(err.message, "config.json: eps: expected a number from 0.001 to 1, found "
                                  "9.9999999999999995e-07");
    cr_assert_eq(oc_json_double_or(top, "gone", 0, 1, 0.25, &number, &err), OCELLI_OK);
    cr_assert_eq(number, 0.25);
    cr_assert_eq(oc_json_double_or(top, "name", 0, 1, 0.25, &number, &err), OCELLI_E_FORMAT);
    cr_assert_eq(oc_json_string(top, "name", &text, &err), OCELLI_OK);
    cr_assert_str_eq(text, "ocelli");
    cr_assert_eq(oc_json_string(top, "yes", &text, &err), OCELLI_E_FORMAT);
    cr_assert_str_eq(err.message, "config.json: yes: expected a string, found true or false");
    cr_assert_null(text);
    cr_assert_eq(oc_json_bool_or(top, "yes", false, &truth, &err), OCELLI_OK);
    cr_assert(truth);
    cr_assert_eq(oc_json_bool_or(top, "no", true, &truth, &err), OCELLI_OK);
    cr_assert_not(truth);
    cr_assert_eq(oc_json_bool_or(top, "gone", true, &truth, &err), OCELLI_OK);
    cr_assert(truth);
    cr_assert_eq(oc_json_bool_or(top, "eps", true, &truth, &err), OCELLI_E_FORMAT);
    oc_json_close(&json);
}

Test(json, lists_of_whole_numbers)
{
    oc_json json = parse("{\"list\": [5, 11, 17], \"one\": 7, \"bad\": [1, 2.5], \"none\": [],"
                         "\"inner\": {\"list\": [1, 2, 3]}}");
    oc_json_object top = oc_json_top(&json);
    ocelli_error err = {0};
    int64_t values[3];
    size_t count = 9;
    cr_assert_eq(oc_json_ints(top, "list", 0, 17, values, 3, &count, &err), OCELLI_OK);
    cr_assert_eq(count, 3);
    cr_assert_eq(values[2], 17);
    cr_assert_eq(oc_json_ints(top, "one", 0, 17, values, 3, &count, &err), OCELLI_E_FORMAT);
    cr_assert_str_eq(err.message, "config.json: one: expected a list of whole numbers, found 7");
    cr_assert_eq(oc_json_ints_or_one(top, "list", 0, 17, values, 3, &count, &err), OCELLI_OK);
    cr_assert_eq(count, 3);
    cr_assert_eq(oc_json_ints_or_one(top, "one", 0, 6, values, 3, &count, &err), OCELLI_E_FORMAT);
    cr_assert_eq(count, 0);
    cr_assert_eq(oc_json_ints_or_one(top, "one", 0, 17, values, 3, &count, &err), OCELLI_OK);
    cr_assert_eq(count, 1);
    cr_assert_eq(values[0], 7);
    cr_assert_eq(oc_json_ints(top, "none", 0, 17, values, 3, &count, &err), OCELLI_OK);
    cr_assert_eq(count, 0);
    cr_assert_eq(oc_json_ints(top, "gone", 0, 17, values, 3, &count, &err), OCELLI_OK);
    cr_assert_eq(count, 0);
    cr_assert_eq(oc_json_ints(top, "list", 0, 17, values, 2, &count, &err), OCELLI_E_FORMAT);
    cr_assert_str_eq(err.message, "config.json: list: more than 2 values");
    cr_assert_eq(count, 0);
    oc_json_object inner;
    cr_assert_eq(oc_json_child(top, "inner", &inner, &err), OCELLI_OK);
    cr_assert_eq(oc_json_ints(inner, "list", 0, 17, values, 2, &count, &err), OCELLI_E_FORMAT);
    cr_assert_str_eq(err.message, "config.json: inner.list: more than 2 values");
    cr_assert_eq(oc_json_ints(top, "bad", 0, 17, values, 3, &count, &err), OCELLI_E_FORMAT);
    cr_assert_str_eq(err.message,
                     "config.json: bad: expected whole numbers from 0 to 17, found 2.5");
    cr_assert_eq(count, 0);
    oc_json_close(&json);
}

Test(json, opens_a_real_file_and_names_a_missing_one)
{
    oc_json json;
    ocelli_error err = {0};
    const char *path = OCELLI_TEST_DATA "/golden/qwen3vl/models/t1_f32/config.json";
    cr_assert_eq(oc_json_open(&json, path, &err), OCELLI_OK, "%s", err.message);
    const char *family;
    cr_assert_eq(oc_json_string(oc_json_top(&json), "model_type", &family, &err), OCELLI_OK);
    cr_assert_str_eq(family, "qwen3_vl");
    oc_json_close(&json);
    cr_assert_null(json.tree);
    cr_assert_eq(oc_json_open(&json, OCELLI_TEST_DATA "/nothing.json", &err), OCELLI_E_IO);
    cr_assert_not_null(strstr(err.message, "/nothing.json: No such file"));
}
