/* test_buffer.c - bytes that grow. */
#include "runtime/base/buffer.h"
#include "runtime/base/memory.h"

#include <criterion/criterion.h>
#include <string.h>

Test(buffer, appends_bytes_and_ends_them)
{
    oc_buffer buffer = {0};
    cr_assert_eq(oc_buffer_append(&buffer, NULL, 0, NULL), OCELLI_OK);
    cr_assert_str_eq(buffer.data, "");
    cr_assert_eq(oc_buffer_append_text(&buffer, "two ", NULL), OCELLI_OK);
    cr_assert_eq(oc_buffer_append(&buffer, "words\0and a nul", 11, NULL), OCELLI_OK);
    cr_assert_eq(buffer.length, 15);
    cr_assert_eq(memcmp(buffer.data, "two words\0and a", 16), 0);
    oc_buffer_clear(&buffer);
    cr_assert_eq(buffer.length, 0);
    cr_assert_str_eq(buffer.data, "");
    oc_buffer_close(&buffer);
    cr_assert_null(buffer.data);
    oc_buffer_clear(&buffer);
    oc_buffer_close(&buffer);
}

Test(buffer, grows_across_every_size)
{
    oc_buffer buffer = {0};
    for (size_t i = 0; i < 5000; i++) {
        char byte = (char)(i * 31 % 127);
        cr_assert_eq(oc_buffer_append(&buffer, &byte, 1, NULL), OCELLI_OK);
        cr_assert_lt(buffer.length, buffer.capacity);
        cr_assert_eq(buffer.data[buffer.length], '\0');
    }
    for (size_t i = 0; i < 5000; i++) {
        cr_assert_eq(buffer.data[i], (char)(i * 31 % 127));
    }
    oc_buffer_close(&buffer);
}

Test(buffer, a_length_that_wraps_is_refused)
{
    oc_buffer buffer = {0};
    ocelli_error err = {0};
    cr_assert_eq(oc_buffer_append_text(&buffer, "kept", NULL), OCELLI_OK);
    cr_assert_eq(oc_buffer_append(&buffer, "x", SIZE_MAX, &err), OCELLI_E_MEMORY);
    cr_assert_eq(oc_buffer_append(&buffer, "x", SIZE_MAX - 4, &err), OCELLI_E_MEMORY);
    cr_assert_eq(oc_buffer_append(&buffer, "x", SIZE_MAX / 2 + 1, &err), OCELLI_E_MEMORY);
    cr_assert_str_eq(buffer.data, "kept");
    oc_buffer_close(&buffer);
}
