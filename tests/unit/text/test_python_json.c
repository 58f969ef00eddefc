/* test_python_json.c - JSON as Python writes it; the right sides were recorded from
 * json.dumps(json.loads(text), ensure_ascii=False). */
#include "text/python_json.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
    const char *text, *python;
} cases[] = {
    {"{}", "{}"},
    {"[ ]", "[]"},
    {" {\"a\":1,\"b\":[true,false,null],\"c\":{}} \n",
     "{\"a\": 1, \"b\": [true, false, null], \"c\": {}}"},
    {"[[],[[1]],{\"x\":[]}]", "[[], [[1]], {\"x\": []}]"},
    {"\"z\"", "\"z\""},
    {"{\"b\": 1, \"a\": 2}", "{\"b\": 1, \"a\": 2}"}, /* order kept */
    /* strings */
    {"\"\\u5929\\u6c14 \\/ <now> & here\"", "\"\345\244\251\346\260\224 / <now> & here\""},
    {"\"\\ud83d\\ude42\"", "\"\360\237\231\202\""},
    {"\"\303\251\\u00e9\"", "\"\303\251\303\251\""},
    {"\"\\\"\\\\\\b\\f\\n\\r\\t\"", "\"\\\"\\\\\\b\\f\\n\\r\\t\""},
    {"\"\\u0000\\u001f\\u007f\\u000a\"", "\"\\u0000\\u001f\177\\n\""},
    {"{\"\\u0041\\n\": \"\"}", "{\"A\\n\": \"\"}"},
    /* whole numbers stay, digit for digit */
    {"[0, -0, 7, -12, 123456789012345678901234567890]",
     "[0, 0, 7, -12, 123456789012345678901234567890]"},
    /* the others take Python's form */
    {"[1.0, 1.50, -0.0, 0.1, 2.5e0, 1e3, 1E+2]", "[1.0, 1.5, -0.0, 0.1, 2.5, 1000.0, 100.0]"},
    {"[1e15, 1e16, 123456789012345680.0]", "[1000000000000000.0, 1e+16, 1.2345678901234568e+17]"},
    {"[0.0001, 0.00001, 1.5e-7, 12.5e-10]", "[0.0001, 1e-05, 1.5e-07, 1.25e-09]"},
    {"[5e-324, 1.7976931348623157e308, 1e-400]", "[5e-324, 1.7976931348623157e+308, 0.0]"},
    {"[0.30000000000000004, 3.14159265358979, 1e22, 9007199254740993.0]",
     "[0.30000000000000004, 3.14159265358979, 1e+22, 9007199254740992.0]"},
};

Test(python_json, writes_what_python_writes)
{
    oc_buffer out = {0};
    ocelli_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oc_buffer_clear(&out);
        ocelli_status status =
            oc_python_json_append(&out, "tool", cases[i].text, strlen(cases[i].text), &err);
        cr_assert_eq(status, OCELLI_OK, "%s: %s", cases[i].text,
                     status != OCELLI_OK ? err.message : "");
        cr_assert_str_eq(out.data, cases[i].python);
    }
    oc_buffer_close(&out);
}

Test(python_json, refuses_what_is_not_json)
{
    static const char *const bad[] = {
        "",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "1.",
        ".5",
        "-",
        "+1",
        "1e",
        "1e+",
        "\"a",
        "\"\001\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "tru",
        "nulll",
        "NaN",
        "Infinity",
        "{\"a\" 1}",
        "{a: 1}",
        "{1: 2}",
        "[1 2]",
        "1 2",
        "[}",
        "{]",
        "]",
        ",",
        "\"\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\udc00\"",
        "\"\377\"",
        "[\"\\ud83d",
        "1e999",
        "{\"a\":}",
        "\"\\",
        "\"\\u00",
        "'a'",
        "// x\n1",
    };
    oc_buffer out = {0};
    cr_assert_eq(oc_buffer_append(&out, "kept", 4, NULL), OCELLI_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ocelli_error err;
        cr_assert_eq(oc_python_json_append(&out, "tool", bad[i], strlen(bad[i]), &err),
                     OCELLI_E_ARGUMENT, "%s", bad[i]);
        cr_assert_str_eq(out.data, "kept", "%s", bad[i]);
        cr_assert_eq(strncmp(err.message, "tool: ", 6), 0, "%s", err.message);
    }
    cr_assert_eq(oc_python_json_append(&out, "tool", "1\0", 2, NULL), OCELLI_E_ARGUMENT);
    cr_assert_eq(oc_python_json_append(&out, "tool", "\"a\0b\"", 5, NULL), OCELLI_E_ARGUMENT);
    oc_buffer_close(&out);
}

Test(python_json, depth_is_bounded)
{
    char text[2 * OC_PYTHON_JSON_DEPTH + 2];
    memset(text, '[', sizeof text / 2);
    memset(text + sizeof text / 2, ']', sizeof text / 2);
    oc_buffer out = {0};
    cr_assert_eq(oc_python_json_append(&out, "tool", text, sizeof text, NULL), OCELLI_E_ARGUMENT);
    cr_assert_eq(oc_python_json_append(&out, "tool", text + 1, sizeof text - 2, NULL), OCELLI_OK);
    cr_assert_eq(out.length, sizeof text - 2);
    oc_buffer_close(&out);
}
