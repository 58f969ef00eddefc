/* test_split.c - the pre-tokeniser, against pieces that a regular expression engine gave. */
#include "text/split.h"

#include "text/unicode.h"

#include <criterion/criterion.h>
#include <string.h>

/* Recorded with Python's regex module from the pattern in split.h. */
static const struct {
    const char *text;
    size_t count;
    unsigned char lengths[24]; /* [count] bytes per piece */
} cases[] = {
    {"Hello, world!", 4, {5, 1, 6, 1}},
    {"I'm sure they'll say it's what we've done; you'd agree, they're right.",
     21,
     {1, 2, 5, 5, 3, 4, 3, 2, 5, 3, 3, 5, 1, 4, 2, 6, 1, 5, 3, 6, 1}},
    {"IT'S THEY'LL WE'VE", 6, {2, 2, 5, 3, 3, 3}},
    {"don't'sx", 4, {3, 2, 2, 1}},
    {"it'\305\277 ok", 3, {2, 3, 3}},
    {"'lx 'rx 'v", 5, {3, 2, 2, 2, 1}},
    {"''s", 2, {2, 1}},
    {"2024-01-31", 10, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"a1b22", 5, {1, 1, 1, 1, 1}},
    {"\302\275\342\205\243\331\245x", 4, {2, 3, 2, 1}},
    {"  a", 2, {1, 2}},
    {"   ", 1, {3}},
    {"a  \n  b", 4, {1, 3, 1, 2}},
    {" \n\n  c", 3, {3, 1, 2}},
    {"\r\n\r\nx", 2, {4, 1}},
    {"\t\tfoo", 2, {1, 4}},
    {"x\t\n\ty", 3, {1, 2, 2}},
    {"foo(x):\n    return x->y;\n\n", 9, {3, 2, 3, 3, 7, 2, 2, 1, 3}},
    {"->\r\n\r\nz", 2, {6, 1}},
    {" !!! \n", 2, {4, 2}},
    {"\302\240!\302\240a\343\200\200\343\200\200b", 5, {2, 1, 3, 3, 4}},
    {"e\314\201t\303\251", 2, {1, 5}},
    {"\340\244\250\340\244\256\340\244\270\340\245\215\340\244\244\340\245\207", 3, {9, 6, 3}},
    {"\314\201\314\201a", 2, {4, 1}},
    {"\344\270\255\346\226\207\357\274\214\346\265\213\350\257\225\343\200\202", 3, {6, 9, 3}},
    {"\360\237\231\202\360\237\231\202 x", 2, {8, 2}},
    {" \360\237\231\202", 1, {5}},
    {"\342\200\213\357\273\277z", 2, {6, 1}},
    {"\034 \035", 2, {1, 2}},
    {"a\342\200\250b\342\200\251\n", 3, {1, 4, 4}},
    {"\302\205\302\205x", 2, {2, 3}},
    {"$\342\202\254100", 4, {4, 1, 1, 1}},
    {"\\n is two", 3, {2, 3, 4}},
    {"x'", 2, {1, 1}},
    {"' s", 2, {1, 2}},
    {"-\n\n-", 2, {3, 1}},
    {"a\343\200\200", 2, {1, 3}},
    {"a \343\200\200", 2, {1, 4}},
    {"\n", 1, {1}},
    {"\r", 1, {1}},
    {" ", 1, {1}},
    {"\305\277s '\305\277'S", 4, {3, 2, 2, 2}},
    {"{\"a\": [1, 2]}", 9, {2, 1, 2, 2, 1, 1, 1, 1, 2}},
    {"\342\204\252'\342\204\252", 2, {3, 4}},
    {"smL\314\201", 2, {3, 2}},
    {"!',\344\270\255", 2, {3, 3}},
    {"5l\342\200\250'\305\277a\343\200\200", 6, {1, 1, 3, 3, 1, 3}},
    {"!\302\205D\t\302\275", 4, {1, 3, 1, 2}},
    {"d'l\342\204\252'", 3, {1, 5, 1}},
    {"t\303\251r\n", 2, {4, 1}},
    {"'\rtZ\342\200\213", 3, {2, 2, 3}},
    {"MMS-", 2, {3, 1}},
    {"\n\tt\303\251\342\200\250m\342\200\213D T", 5, {1, 4, 4, 4, 2}},
    {" a\tReLra", 2, {2, 6}},
    {"!\305\277V\342\200\213", 2, {4, 3}},
    {"m,\342\204\252me\t\302\205\rR\n\tM", 6, {1, 6, 4, 1, 1, 2}},
    {"D\344\270\255'Z", 2, {4, 2}},
    {"V\n\314\201\302\205\303\251rs", 4, {1, 1, 2, 6}},
    {"M,da\302\240 ", 3, {1, 3, 3}},
    {"\rttTM\344\270\255\342\200\250L", 3, {1, 7, 4}},
    {"\314\201  \302\240", 2, {2, 4}},
    {"e\344\270\255-\303\251e\rV\342\200\250E'l", 6, {4, 4, 1, 1, 4, 2}},
    {"mv\342\200\250\302\275m\342\200\213\r", 5, {2, 3, 2, 1, 4}},
    {"\314\201T\tSrrs\342\204\252dL\n", 3, {3, 10, 1}},
    {"\t\314\201\305\277'5Vte", 5, {1, 4, 1, 1, 3}},
    {"-\302\275\302\205\302\240\302\240tD", 4, {1, 2, 4, 4}},
    {"MZtD\t,L", 3, {4, 1, 2}},
    {"sV' ", 3, {2, 1, 1}},
    {"\303\251eT e, \343\200\200\360\237\231\2025\344\270\255e", 8, {4, 2, 1, 1, 3, 4, 1, 4}},
    {"Z- \360\237\231\202", 3, {1, 1, 5}},
    {"sZ\314\201\342\200\250t-t'", 5, {2, 2, 4, 2, 1}},
    {"ett,\331\243 se ", 5, {3, 1, 2, 3, 1}},
    {"T\342\200\213-t\tZ\305\277\303\251a", 4, {1, 4, 1, 7}},
    {"\r\344\270\255a\314\201tTT\342\200\250Rd", 4, {1, 4, 5, 5}},
    {" \r\360\237\231\202\344\270\255!,!\331\243T5", 6, {2, 7, 3, 2, 1, 1}},
    {"Z'\314\201T-Zl\360\237\231\202R\305\277\302\240\343\200\200", 6, {1, 3, 1, 3, 7, 5}},
    {"da 'E\342\200\213\302\240m5v ", 8, {2, 2, 1, 3, 3, 1, 1, 1}},
    {"\305\277L'\n\343\200\200dm\342\200\250.mM", 5, {3, 2, 5, 3, 3}},
    {"l\344\270\255'Mee\305\277 st", 4, {4, 2, 4, 3}},
    {"vR,-DM\t\r", 4, {2, 2, 2, 2}},
    {"\305\277\342\200\213'\302\240,'tsD\314\201s\342\200\213", 7, {2, 4, 2, 2, 3, 3, 3}},
    {"\303\251 '\302\205\303\251Z\302\205e", 4, {2, 2, 5, 3}},
    {"!mZDLES\342\200\250R,", 3, {7, 4, 1}},
    {"\342\200\250\331\243\302\205\342\200\250 ", 3, {3, 2, 6}},
    {"\342\200\213mm-d", 2, {5, 2}},
    {"a-\331\243sVl", 4, {1, 1, 2, 3}},
    {" \331\243\360\237\231\2025\342\204\252\302\240v\n", 7, {1, 2, 4, 1, 3, 3, 1}},
    {"T\t\re,!m", 5, {1, 2, 1, 2, 1}},
    {"\r\302\275\303\251\302\205", 4, {1, 2, 2, 2}},
    {" !'\302\205Mr\302\205RML\rT", 5, {3, 4, 5, 1, 1}},
};

static bool is_ascii(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text >= 0x80) {
            return false;
        }
    }
    return true;
}

Test(split, gives_the_pieces_of_the_pattern)
{
    size_t checked = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
#ifndef OCELLI_HAVE_UTF8PROC
        if (!is_ascii(cases[i].text)) {
            continue; /* classes are ASCII's only */
        }
#else
        (void)is_ascii;
#endif
        const char *text = cases[i].text;
        size_t size = strlen(text);
        for (size_t piece = 0; piece < cases[i].count; piece++) {
            size_t length = oc_split_next(text, size);
            cr_assert_eq(length, cases[i].lengths[piece], "\"%s\": piece %zu has %zu bytes, not %d",
                         cases[i].text, piece, length, cases[i].lengths[piece]);
            text += length;
            size -= length;
        }
        cr_assert_eq(size, 0, "\"%s\"", cases[i].text);
        checked++;
    }
    cr_assert_geq(checked, 20);
}

/* The end of the text is its size: nothing behind it is looked at. */
Test(split, stops_at_the_size)
{
    cr_assert_eq(oc_split_next("'re", 2), 2);   /* ' and a letter, not a contraction */
    cr_assert_eq(oc_split_next("'rest", 3), 3); /* the contraction */
    cr_assert_eq(oc_split_next("abc", 2), 2);
    cr_assert_eq(oc_split_next("  x", 2), 2); /* all blanks: no word follows */
    cr_assert_eq(oc_split_next("  x", 3), 1);
    cr_assert_eq(oc_split_next("' x", 1), 1);
    cr_assert_eq(oc_split_next("-\n\n", 2), 2);
}

Test(split, takes_a_nul_as_a_symbol)
{
    cr_assert_eq(oc_split_next("\0a", 2), 2); /* [^\r\n\p{L}\p{N}]?\p{L}+ */
    cr_assert_eq(oc_split_next("\0\0 ", 3), 2);
}
