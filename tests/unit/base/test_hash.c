/* test_hash.c - XXH3-128 of known inputs (as the reference program
 * xxhsum prints them), so that fingerprints written today are found tomorrow. */
#include "runtime/base/hash.h"

#include <criterion/criterion.h>

static void expect(const void *bytes, size_t size, const char *digits)
{
    char text[33];
    oc_hash_format(oc_hash_bytes(bytes, size), text);
    cr_assert_str_eq(text, digits);
    /* The same in pieces of every length up to 70. */
    for (size_t step = 1; step < 70; step++) {
        oc_hasher *hasher = oc_hasher_open();
        cr_assert_not_null(hasher);
        for (size_t at = 0; at < size; at += step) {
            oc_hasher_update(hasher, (const unsigned char *)bytes + at,
                             size - at < step ? size - at : step);
        }
        cr_assert(oc_hash_equal(oc_hasher_digest(hasher), oc_hash_bytes(bytes, size)));
        oc_hasher_close(hasher);
    }
}

Test(hash, known_values)
{
    unsigned char bytes[1000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(i * 7 % 251);
    }
    expect("", 0, "99aa06d3014798d86001c324468d497f");
    expect("a", 1, "a96faf705af16834e6c632b61e964e1f");
    expect("abc", 3, "06b05ab6733a618578af5f94892f3950");
    expect(bytes, sizeof bytes, "5ed35fc6b4f0ef20d1eb8367bf3294e7");
}

Test(hash, a_changed_bit_changes_it)
{
    unsigned char bytes[300] = {0};
    oc_hash plain = oc_hash_bytes(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = 1;
        cr_assert_not(oc_hash_equal(plain, oc_hash_bytes(bytes, sizeof bytes)));
        bytes[i] = 0;
    }
    cr_assert_not(oc_hash_equal(plain, oc_hash_bytes(bytes, sizeof bytes - 1)));
    cr_assert(oc_hash_equal(plain, oc_hash_bytes(bytes, sizeof bytes)));
    oc_hasher_close(NULL);
}
