/* test_status.c - messages: one line, UTF-8, fit for a terminal, whatever the names in them hold. */
#include "runtime/base/log.h"
#include "runtime/base/status.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(status, fills_the_callers_error)
{
    ocelli_error err = {0};
    cr_assert_eq(oc_fail(&err, OCELLI_E_IO, "%s: %d", "a.png", 7), OCELLI_E_IO);
    cr_assert_eq(err.status, OCELLI_E_IO);
    cr_assert_str_eq(err.message, "a.png: 7");
    cr_assert_eq(oc_fail(NULL, OCELLI_E_LIMIT, "nobody listens"), OCELLI_E_LIMIT);
    cr_assert_eq(oc_fail_memory(&err, "kv cache"), OCELLI_E_MEMORY);
    cr_assert_str_eq(err.message, "not enough memory for kv cache");
    cr_assert_eq(oc_fail_prefix(&err, OCELLI_E_MEMORY, "layer 3"), OCELLI_E_MEMORY);
    cr_assert_str_eq(err.message, "layer 3: not enough memory for kv cache");
}

/* Every cut position of a message that ends in characters of 1 to 4 bytes. */
Test(status, never_cuts_a_character_in_two)
{
    static const char *const characters[] = {"a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x8c\x8d"};
    const size_t room = sizeof((ocelli_error *)0)->message;
    for (size_t kind = 0; kind < 4; kind++) {
        size_t bytes = strlen(characters[kind]);
        for (size_t lead = 0; lead < 8; lead++) {
            char text[2048] = "";
            size_t length = 0;
            while (length < lead) {
                text[length++] = '-';
            }
            while (length + bytes < sizeof text) {
                memcpy(text + length, characters[kind], bytes);
                length += bytes;
            }
            text[length] = '\0';
            ocelli_error err = {0};
            oc_fail(&err, OCELLI_E_FORMAT, "%s", text);
            size_t kept = strlen(err.message);
            cr_assert_lt(kept, room);
            cr_assert_geq(kept, room - 4);
            cr_assert_eq((kept - lead) % bytes, 0, "cut inside a character");
            cr_assert_eq(memcmp(err.message, text, kept), 0);
        }
    }
}

Test(status, control_characters_and_malformed_bytes_become_question_marks)
{
    ocelli_error err = {0};
    oc_fail(&err, OCELLI_E_IO, "%s", "a\nb\tc\x1b[31md\x7f");
    cr_assert_str_eq(err.message, "a?b?c?[31md?");
    oc_fail(&err, OCELLI_E_IO, "%s", "C1: \xc2\x9b!");
    cr_assert_str_eq(err.message, "C1: ?"
                                  "?!");
    oc_fail(&err, OCELLI_E_IO, "%s", "latin1 \xe9t\xe9.png");
    cr_assert_str_eq(err.message, "latin1 ?t?.png");
    /* Overlong, surrogate, beyond U+10FFFF, lone continuation, cut at the end. */
    oc_fail(&err, OCELLI_E_IO, "%s",
            "\xc0\xaf \xe0\x80\xaf \xed\xa0\x80 \xf4\x90\x80\x80 \x80 \xe2\x82");
    cr_assert_str_eq(err.message, "?? ??? ??? ???? ? ??");
    oc_fail(&err, OCELLI_E_IO, "%s",
            "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8d \xef\xbf\xbd");
    cr_assert_str_eq(err.message, "\xc3\xa9t\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8d \xef\xbf\xbd");
}

Test(status, a_long_prefix_keeps_the_line_whole)
{
    char prefix[700];
    memset(prefix, 'p', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = '\0';
    ocelli_error err = {0};
    oc_fail(&err, OCELLI_E_IO, "the reason");
    oc_fail_prefix(&err, OCELLI_E_IO, prefix);
    cr_assert_eq(strlen(err.message), sizeof err.message - 1);
    cr_assert_eq(oc_fail_prefix(NULL, OCELLI_E_IO, "x"), OCELLI_E_IO);
}

Test(status, every_code_has_its_name)
{
    static const struct {
        ocelli_status status;
        const char *name;
    } names[] = {{OCELLI_OK, "ok"},
                 {OCELLI_E_ARGUMENT, "argument"},
                 {OCELLI_E_MEMORY, "memory"},
                 {OCELLI_E_STATE, "state"},
                 {OCELLI_E_IO, "io"},
                 {OCELLI_E_FORMAT, "format"},
                 {OCELLI_E_UNSUPPORTED, "unsupported"},
                 {OCELLI_E_LIMIT, "limit"},
                 {OCELLI_E_CONTEXT, "context"},
                 {OCELLI_E_CANCELLED, "cancelled"},
                 {OCELLI_E_INTERNAL, "internal"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert_str_eq(ocelli_status_name(names[i].status), names[i].name);
    }
    cr_assert_str_eq(ocelli_status_name((ocelli_status)1234), "unknown");
}

static void keep_line(void *user, ocelli_level level, const char *line)
{
    snprintf(user, 600, "%d:%s", (int)level, line);
}

Test(log, lines_are_whole_and_printable)
{
    char kept[600] = "";
    oc_log log = {.write = keep_line, .user = kept};
    oc_log_write(&log, OCELLI_LOG_WARN, "%s skipped", "a\nb.png");
    cr_assert_str_eq(kept, "1:a?b.png skipped");
    char big[2000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    oc_log_write(&log, OCELLI_LOG_DEBUG, "%s", big);
    cr_assert_eq(strlen(kept), 2 + 511);
    oc_log silent = {0};
    oc_log_write(&silent, OCELLI_LOG_ERROR, "nobody");
    oc_log_write(NULL, OCELLI_LOG_ERROR, "nobody");
}
