/* test_unicode.c - UTF-8, classes and NFC, against the standard's own tables and Python. */
#include "text/unicode.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(unicode, length_takes_only_well_formed_characters)
{
    static const struct {
        const char *text;
        size_t size, length;
    } cases[] = {
        {"", 0, 0},
        {"a", 1, 1},
        {"\0", 1, 1},
        {"\177", 1, 1},
        {"\303\251", 2, 2},
        {"\303\251", 1, 0},         /* cut */
        {"\344\270\255", 3, 3},     /* U+4E2D */
        {"\360\237\231\202", 4, 4}, /* U+1F642 */
        {"\364\217\277\277", 4, 4}, /* U+10FFFF */
        {"\364\220\200\200", 4, 0}, /* above it */
        {"\300\200", 2, 0},         /* overlong NUL */
        {"\340\237\277", 3, 0},     /* overlong */
        {"\340\240\200", 3, 3},     /* U+0800 */
        {"\355\237\277", 3, 3},     /* U+D7FF */
        {"\355\240\200", 3, 0},     /* a surrogate */
        {"\360\217\277\277", 4, 0}, /* overlong */
        {"\200", 1, 0},             /* a continuation alone */
        {"\303(", 2, 0},
        {"\377", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(oc_utf8_length(cases[i].text, cases[i].size), cases[i].length, "case %zu", i);
    }
}

Test(unicode, every_character_survives_encoding_and_decoding)
{
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        if (code >= 0xd800 && code <= 0xdfff) {
            continue;
        }
        char bytes[4];
        size_t length = oc_utf8_encode(bytes, code);
        size_t read = 0;
        cr_assert_eq(oc_utf8_length(bytes, length), length, "U+%04X", (unsigned)code);
        cr_assert_eq(oc_utf8_decode(bytes, &read), code, "U+%04X", (unsigned)code);
        cr_assert_eq(read, length);
        cr_assert_eq(length, code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4);
    }
}

Test(unicode, valid_prefix_ends_at_the_first_malformed_byte)
{
    cr_assert_eq(oc_utf8_valid_prefix("", 0), 0);
    cr_assert_eq(oc_utf8_valid_prefix("a\303\251z", 4), 4);
    cr_assert_eq(oc_utf8_valid_prefix("a\303\251\200z", 5), 3);
    cr_assert_eq(oc_utf8_valid_prefix("ab\344\270", 4), 2);
}

Test(unicode, complete_prefix_holds_back_what_may_still_be_completed)
{
    static const struct {
        const char *text;
        size_t size, complete;
    } cases[] = {
        {"", 0, 0},
        {"abc", 3, 3},
        {"a\303", 2, 1},
        {"a\303\251", 3, 3},
        {"a\344", 2, 1},
        {"a\344\270", 3, 1},
        {"\360\237\231", 3, 0},
        {"\360\237\231\202", 4, 4},
        {"\344\270\255\344\270", 5, 3},
        {"\200\200", 2, 2},     /* malformed: never completed */
        {"\355\240", 2, 2},     /* would be a surrogate */
        {"\364\220", 2, 2},     /* would be above U+10FFFF */
        {"\360\200\200", 3, 3}, /* would be overlong */
        {"\377", 1, 1},
        {"\344a", 2, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(oc_utf8_complete_prefix(cases[i].text, cases[i].size), cases[i].complete,
                     "case %zu", i);
    }
}

/* Recorded from Python: bytes.decode("utf-8", "replace"). */
static const struct {
    const char *bytes;
    size_t size;
    const char *text;
} lossy[] = {
    {"a\200b", 3, "a\357\277\275b"},
    {"\300\257", 2, "\357\277\275\357\277\275"},
    {"\344\270", 2, "\357\277\275"},
    {"\344\270a", 3, "\357\277\275a"},
    {"\355\240\200", 3, "\357\277\275\357\277\275\357\277\275"},
    {"\360\237\231", 3, "\357\277\275"},
    {"\360\237\231\202", 4, "\360\237\231\202"},
    {"\364\220\200\200", 4, "\357\277\275\357\277\275\357\277\275\357\277\275"},
    {"\365a", 2, "\357\277\275a"},
    {"\340\200\200", 3, "\357\277\275\357\277\275\357\277\275"},
    {"\377\376", 2, "\357\277\275\357\277\275"},
    {"\360\200\200A", 4, "\357\277\275\357\277\275\357\277\275A"},
    {"ok \303\251 \303", 7, "ok \303\251 \357\277\275"},
    {"\344\270\255\344\270\344\270\255", 8, "\344\270\255\357\277\275\344\270\255"},
    {"\361\200\200\341\200\302", 6, "\357\277\275\357\277\275\357\277\275"},
};

Test(unicode, lossy_replaces_as_python_does)
{
    oc_buffer out = {0};
    for (size_t i = 0; i < sizeof lossy / sizeof *lossy; i++) {
        oc_buffer_clear(&out);
        cr_assert_eq(oc_utf8_append_lossy(&out, lossy[i].bytes, lossy[i].size, NULL), OCELLI_OK);
        cr_assert_str_eq(out.data, lossy[i].text, "case %zu", i);
    }
    oc_buffer_close(&out);
}

Test(unicode, white_space_is_the_property)
{
    static const uint32_t spaces[] = {0x09,   0x0a,   0x0b,   0x0c,   0x0d,   0x20,   0x85,
                                      0xa0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                      0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200a, 0x2028,
                                      0x2029, 0x202f, 0x205f, 0x3000};
    size_t next = 0;
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        bool wanted = next < sizeof spaces / sizeof *spaces && spaces[next] == code;
        next += wanted ? 1 : 0;
        cr_assert_eq(oc_unicode_is_space(code), wanted, "U+%04X", (unsigned)code);
    }
    cr_assert_eq(next, 25);
}

Test(unicode, ascii_classes)
{
    for (uint32_t code = 0; code < 0x80; code++) {
        bool letter = (code >= 'A' && code <= 'Z') || (code >= 'a' && code <= 'z');
        cr_assert_eq(oc_unicode_is_letter(code), letter, "U+%04X", (unsigned)code);
        cr_assert_eq(oc_unicode_is_number(code), code >= '0' && code <= '9', "U+%04X",
                     (unsigned)code);
    }
}

Test(unicode, nfc_leaves_ascii_alone)
{
    oc_buffer out = {0};
    cr_assert_eq(oc_unicode_append_nfc(&out, "", 0, NULL), OCELLI_OK);
    cr_assert_eq(out.length, 0);
    cr_assert_eq(oc_unicode_append_nfc(&out, "a\0b\n~", 5, NULL), OCELLI_OK);
    cr_assert_eq(out.length, 5);
    cr_assert_eq(memcmp(out.data, "a\0b\n~", 5), 0);
    oc_buffer_close(&out);
}

#ifdef OCELLI_HAVE_UTF8PROC

Test(unicode, classes_beyond_ascii)
{
    static const uint32_t letters[] = {0xaa,   0xb5,   0xe9,   0x17f,   0x2b0,   0x3b1,  0x5d0,
                                       0x627,  0x915,  0xe01,  0x1100,  0x10a0,  0x212a, 0x3042,
                                       0x4e2d, 0xac00, 0xfb01, 0x10400, 0x1d400, 0x20000};
    static const uint32_t numbers[] = {0xb2,   0xbd,   0x660,  0x966,  0x2070,
                                       0x2163, 0x2460, 0x3007, 0xff10, 0x1d7ce};
    static const uint32_t neither[] = {0xa0,    0xd7,   0x301,  0x93e,  0x94d,
                                       0x200b,  0x20ac, 0x2190, 0x3001, 0xfe0f,
                                       0x1f642, 0xe000, 0xfeff, 0x378,  0x10ffff};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        cr_assert(oc_unicode_is_letter(letters[i]), "U+%04X", (unsigned)letters[i]);
        cr_assert_not(oc_unicode_is_number(letters[i]), "U+%04X", (unsigned)letters[i]);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        cr_assert(oc_unicode_is_number(numbers[i]), "U+%04X", (unsigned)numbers[i]);
        cr_assert_not(oc_unicode_is_letter(numbers[i]), "U+%04X", (unsigned)numbers[i]);
    }
    for (size_t i = 0; i < sizeof neither / sizeof *neither; i++) {
        cr_assert_not(oc_unicode_is_letter(neither[i]), "U+%04X", (unsigned)neither[i]);
        cr_assert_not(oc_unicode_is_number(neither[i]), "U+%04X", (unsigned)neither[i]);
    }
}

/* Lines of Unicode's NormalizationTest.txt: columns 1, 3 and 5 with what NFC makes of them. */
static const struct {
    const char *text, *nfc;
} composed[] = {
    {"\315\200", "\314\200"},
    {"\314\200", "\314\200"},
    {"\315\204", "\314\210\314\201"},
    {"\314\210\314\201", "\314\210\314\201"},
    {"\315\276", ";"},
    {";", ";"},
    {"\340\245\230", "\340\244\225\340\244\274"},
    {"\340\244\225\340\244\274", "\340\244\225\340\244\274"},
    {"\340\247\234", "\340\246\241\340\246\274"},
    {"\340\246\241\340\246\274", "\340\246\241\340\246\274"},
    {"\340\275\263", "\340\275\261\340\275\262"},
    {"\340\275\261\340\275\262", "\340\275\261\340\275\262"},
    {"\341\200\246", "\341\200\246"},
    {"\341\200\245\341\200\256", "\341\200\246"},
    {"\341\271\251", "\341\271\251"},
    {"s\314\243\314\207", "\341\271\251"},
    {"\341\272\233", "\341\272\233"},
    {"\305\277\314\207", "\341\272\233"},
    {"s\314\207", "\341\271\241"},
    {"\341\277\276", "\341\277\276"},
    {" \314\224", " \314\224"},
    {"\342\204\246", "\316\251"},
    {"\316\251", "\316\251"},
    {"\342\204\253", "\303\205"},
    {"A\314\212", "\303\205"},
    {"\342\253\234", "\342\253\235\314\270"},
    {"\342\253\235\314\270", "\342\253\235\314\270"},
    {"\352\260\200", "\352\260\200"},
    {"\341\204\200\341\205\241", "\352\260\200"},
    {"\355\223\233", "\355\223\233"},
    {"\341\204\221\341\205\261\341\206\266", "\355\223\233"},
    {"\357\244\200", "\350\261\210"},
    {"\350\261\210", "\350\261\210"},
    {"\357\254\235", "\327\231\326\264"},
    {"\327\231\326\264", "\327\231\326\264"},
    {"\360\221\202\253", "\360\221\202\253"},
    {"\360\221\202\245\360\221\202\272", "\360\221\202\253"},
    {"\360\235\205\236", "\360\235\205\227\360\235\205\245"},
    {"\360\235\205\227\360\235\205\245", "\360\235\205\227\360\235\205\245"},
    {"\360\257\240\200", "\344\270\275"},
    {"\344\270\275", "\344\270\275"},
    {"E\314\200", "\303\210"},
    {"\304\222\314\200", "\341\270\224"},
    {"E\314\204\314\200", "\341\270\224"},
    {"\341\204\200\352\260\200\341\206\250\341\206\250", "\341\204\200\352\260\201\341\206\250"},
    {"\341\204\200\341\204\200\341\205\241\341\206\250\341\206\250",
     "\341\204\200\352\260\201\341\206\250"},
    {"\326\222\326\267\326\274\326\245\326\260\327\200\327\204\326\255",
     "\326\260\326\267\326\274\326\245\326\222\327\200\326\255\327\204"},
    {"\326\260\326\267\326\274\326\245\326\222\327\200\326\255\327\204",
     "\326\260\326\267\326\274\326\245\326\222\327\200\326\255\327\204"},
    {"\341\270\224", "\341\270\224"},
    {"\341\270\224\314\204", "\341\270\224\314\204"},
    {"E\314\204\314\200\314\204", "\341\270\224\314\204"},
    {"\341\270\212\314\233", "\341\270\212\314\233"},
    {"D\314\233\314\207", "\341\270\212\314\233"},
    {"D\314\243\314\207", "\341\270\214\314\207"},
    {"E\314\200\314\204", "\303\210\314\204"},
    {"E\314\204", "\304\222"},
    {"D\314\233\314\207\314\243", "\341\270\214\314\233\314\207"},
    {"D\314\233\314\243\314\207", "\341\270\214\314\233\314\207"},
    {"\341\270\214\314\233\314\207", "\341\270\214\314\233\314\207"},
    {"a\314\225\314\200\326\256\360\226\254\262b", "\303\240\326\256\360\226\254\262\314\225b"},
    {"a\326\256\314\200\360\226\254\262\314\225b", "\303\240\326\256\360\226\254\262\314\225b"},
    {"a\331\227\314\225\314\200\326\256b", "a\326\256\331\227\314\200\314\225b"},
    {"a\326\256\331\227\314\200\314\225b", "a\326\256\331\227\314\200\314\225b"},
    {"a\315\205\315\235\315\234\315\241b", "a\315\234\315\235\315\241\315\205b"},
    {"a\315\234\315\235\315\241\315\205b", "a\315\234\315\235\315\241\315\205b"},
    {"a\314\225\314\200\326\256\341\253\215b", "\303\240\326\256\341\253\215\314\225b"},
    {"a\326\256\314\200\341\253\215\314\225b", "\303\240\326\256\341\253\215\314\225b"},
    {"a\340\243\237\314\225\314\200\326\256b", "a\326\256\340\243\237\314\200\314\225b"},
    {"a\326\256\340\243\237\314\200\314\225b", "a\326\256\340\243\237\314\200\314\225b"},
    {"a\314\200\326\256\360\235\205\255\326\256b", "\303\240\360\235\205\255\326\256\326\256b"},
    {"a\360\235\205\255\326\256\326\256\314\200b", "\303\240\360\235\205\255\326\256\326\256b"},
    {"a\315\235\315\205\315\235\315\234b", "a\315\234\315\235\315\235\315\205b"},
    {"a\315\234\315\235\315\235\315\205b", "a\315\234\315\235\315\235\315\205b"},
    {"a\341\267\260\314\225\314\200\326\256b", "a\326\256\341\267\260\314\200\314\225b"},
    {"a\326\256\341\267\260\314\200\314\225b", "a\326\256\341\267\260\314\200\314\225b"},
    {"a\341\267\272\314\233\341\267\216\360\235\205\261b",
     "a\341\267\216\314\233\360\235\205\261\341\267\272b"},
    {"a\341\267\216\314\233\360\235\205\261\341\267\272b",
     "a\341\267\216\314\233\360\235\205\261\341\267\272b"},
    {"a\360\236\243\223\326\232\314\226\341\267\272b",
     "a\341\267\272\360\236\243\223\314\226\326\232b"},
    {"a\341\267\272\360\236\243\223\314\226\326\232b",
     "a\341\267\272\360\236\243\223\314\226\326\232b"},
    {"a\314\225\314\200\326\256\360\220\215\267b", "\303\240\326\256\360\220\215\267\314\225b"},
    {"a\326\256\314\200\360\220\215\267\314\225b", "\303\240\326\256\360\220\215\267\314\225b"},
    {"a\352\232\237\314\225\314\200\326\256b", "a\326\256\352\232\237\314\200\314\225b"},
    {"a\326\256\352\232\237\314\200\314\225b", "a\326\256\352\232\237\314\200\314\225b"},
    {"a\314\252\326\232\314\226\341\267\272b", "a\341\267\272\314\252\314\226\326\232b"},
    {"a\341\267\272\314\252\314\226\326\232b", "a\341\267\272\314\252\314\226\326\232b"},
    {"a\342\267\254\314\225\314\200\326\256b", "a\326\256\342\267\254\314\200\314\225b"},
    {"a\326\256\342\267\254\314\200\314\225b", "a\326\256\342\267\254\314\200\314\225b"},
    {"\353\244\240\314\264\341\206\256", "\353\244\240\314\264\341\206\256"},
    {"\341\204\205\341\205\260\314\264\341\206\256", "\353\244\240\314\264\341\206\256"},
    {"\353\275\270\314\264\341\206\274", "\353\275\270\314\264\341\206\274"},
    {"\341\204\210\341\205\253\314\264\341\206\274", "\353\275\270\314\264\341\206\274"},
    {"\360\221\204\262\314\264\360\221\204\247", "\360\221\204\262\314\264\360\221\204\247"},
    {"\355\215\240\314\264\341\206\274", "\355\215\240\314\264\341\206\274"},
    {"\341\204\221\341\205\244\314\264\341\206\274", "\355\215\240\314\264\341\206\274"},
    {"\360\221\204\261\314\264\360\221\204\247", "\360\221\204\261\314\264\360\221\204\247"},
    {"\341\204\204\314\264\341\205\265", "\341\204\204\314\264\341\205\265"},
    {"\355\221\270\314\264\341\206\265", "\355\221\270\314\264\341\206\265"},
    {"\341\204\221\341\205\256\314\264\341\206\265", "\355\221\270\314\264\341\206\265"},
    {"\340\255\207\314\264\340\255\226", "\340\255\207\314\264\340\255\226"},
    {"\354\244\230\314\264\341\206\265", "\354\244\230\314\264\341\206\265"},
    {"\341\204\214\341\205\257\314\264\341\206\265", "\354\244\230\314\264\341\206\265"},
    {"\340\265\207\314\264\340\264\276", "\340\265\207\314\264\340\264\276"},
};

static void expect_nfc(const char *text, size_t size, const char *nfc, size_t nfc_size,
                       size_t which)
{
    oc_buffer out = {0};
    cr_assert_eq(oc_unicode_append_nfc(&out, text, size, NULL), OCELLI_OK);
    cr_assert(out.length == nfc_size && memcmp(out.data, nfc, nfc_size) == 0, "case %zu: %s", which,
              out.data);
    oc_buffer_close(&out);
}

Test(unicode, nfc_passes_the_conformance_test)
{
    for (size_t i = 0; i < sizeof composed / sizeof *composed; i++) {
        expect_nfc(composed[i].text, strlen(composed[i].text), composed[i].nfc,
                   strlen(composed[i].nfc), i);
        /* The same inside a text: what stands around it must not matter, nor be touched. */
        char text[256];
        char nfc[256];
        int size = snprintf(text, sizeof text, "x \344\270\255%s\344\270\255 y", composed[i].text);
        int nfc_size = snprintf(nfc, sizeof nfc, "x \344\270\255%s\344\270\255 y", composed[i].nfc);
        unsigned char lead = (unsigned char)composed[i].text[0];
        if (lead < 0xcc || lead > 0xcd) { /* not a mark first: it cannot join what is before */
            expect_nfc(text, (size_t)size, nfc, (size_t)nfc_size, i);
        }
    }
}

Test(unicode, nfc_joins_across_ascii_and_stretches)
{
    /* e + acute; Hangul L + V + T; a syllable + T; an ideograph between. */
    static const char text[] = "e\314\201e\314\201\344\270\255\341\204\200\341\205\241\341\206\250"
                               "\352\260\200\341\206\250.";
    static const char nfc[] = "\303\251\303\251\344\270\255\352\260\201\352\260\201.";
    expect_nfc(text, sizeof text - 1, nfc, sizeof nfc - 1, 0);
    /* Marks in the wrong order: dot below goes first and is the one that composes. */
    static const char marks[] = "a\314\201\314\243";
    expect_nfc(marks, sizeof marks - 1, "\341\272\241\314\201", 5, 1);
}

/* A megabyte of marks in the order that costs a swapping sort the most. */
Test(unicode, nfc_of_endless_marks_is_sorted)
{
    enum { PAIRS = 262144 };
    oc_buffer text = {0};
    oc_buffer out = {0};
    cr_assert_eq(oc_buffer_append(&text, "a", 1, NULL), OCELLI_OK);
    for (size_t i = 0; i < PAIRS; i++) { /* acute (class 230), dot below (class 220) */
        cr_assert_eq(oc_buffer_append(&text, "\314\201\314\243", 4, NULL), OCELLI_OK);
    }
    cr_assert_eq(oc_unicode_append_nfc(&out, text.data, text.length, NULL), OCELLI_OK);
    /* a + first dot compose to U+1EA1; the other dots; all acutes. */
    cr_assert_eq(out.length, 3 + 2 * (PAIRS - 1) + 2 * PAIRS);
    cr_assert_eq(memcmp(out.data, "\341\272\241", 3), 0);
    for (size_t i = 0; i < 2 * PAIRS - 1; i++) {
        const char *wanted = i < PAIRS - 1 ? "\314\243" : "\314\201";
        cr_assert_eq(memcmp(out.data + 3 + 2 * i, wanted, 2), 0, "mark %zu", i);
    }
    oc_buffer_close(&text);
    oc_buffer_close(&out);
}

#else

Test(unicode, nfc_beyond_ascii_needs_utf8proc)
{
    ocelli_error err;
    oc_buffer out = {0};
    cr_assert_eq(oc_buffer_append(&out, "kept", 4, NULL), OCELLI_OK);
    cr_assert_eq(oc_unicode_append_nfc(&out, "abc \303\251", 6, &err), OCELLI_E_UNSUPPORTED);
    cr_assert_str_eq(out.data, "kept");
    cr_assert_not_null(strstr(err.message, "utf8proc"));
    oc_buffer_close(&out);
}

#endif
