/* fuzz_json.c - the three readers of JSON: the one for files that people write, the scanner, and
 * the one that rewrites tools as Python does. */
#include "runtime/base/json.h"
#include "runtime/base/json_scan.h"
#include "tests/fuzz/fuzz.h"
#include "text/python_json.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = size > 0 ? (const char *)data : "";
    oc_json json;
    oc_buffer once = {0}, twice = {0};
    if (oc_json_parse(&json, "input", text, size, NULL) == OCELLI_OK) {
        int64_t whole, several[4];
        double real;
        size_t count;
        const char *string;
        oc_json_object top = oc_json_top(&json);
        (void)oc_json_int(top, "a", -5, 1000, &whole, NULL);
        (void)oc_json_double(top, "a", 0, 1, &real, NULL);
        (void)oc_json_string(top, "a", &string, NULL);
        (void)oc_json_ints_or_one(top, "a", 0, 9, several, 4, &count, NULL);
        oc_json_close(&json);
    }
    oc_json_scan scan = {.at = (const unsigned char *)text,
                         .end = (const unsigned char *)text + size};
    (void)oc_scan_skip(&scan);
    fuzz_require(scan.at <= scan.end, "the scanner stays inside");
    /* What was rewritten once is rewritten to itself. */
    if (oc_python_json_append(&once, "input", text, size, NULL) == OCELLI_OK) {
        fuzz_require(
            oc_python_json_append(&twice, "input", once.data, once.length, NULL) == OCELLI_OK &&
                twice.length == once.length && memcmp(twice.data, once.data, once.length) == 0,
            "rewriting is done after once");
    }
    oc_buffer_close(&once);
    oc_buffer_close(&twice);
    return 0;
}
