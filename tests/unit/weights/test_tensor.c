/* test_tensor.c - dtypes, shapes in words, exact widening. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/weights/tensor.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t widen_one(oc_dtype dtype, uint16_t half)
{
    unsigned char bytes[3] = {0, (unsigned char)half, (unsigned char)(half >> 8)};
    float out = -1;
    oc_tensor tensor = {.data = bytes + 1, .bytes = 2, .dtype = dtype, .rank = 1, .shape = {1}};
    oc_tensor_widen(&tensor, 0, 1, &out);
    return bits_of(out);
}

Test(tensor, widens_f16_exactly)
{
    /* All 65,536: by the definition of the format, not by another bit trick. */
    for (uint32_t half = 0; half < 65536; half++) {
        uint32_t bits = widen_one(OC_F16, (uint16_t)half);
        int exponent = (int)(half >> 10 & 31);
        double mantissa = (double)(half & 1023);
        double value = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
        cr_assert_eq(bits >> 31, half >> 15);
        if (exponent == 31) {
            float back;
            memcpy(&back, &bits, sizeof back);
            cr_assert_eq(isnan(back) != 0, (half & 1023) != 0);
            cr_assert_eq(isinf(back) != 0, (half & 1023) == 0);
            /* A NaN's payload stays; it may only be made quiet. */
            cr_assert_eq(bits & 0x3fffff, (half & 511) << 13);
        } else {
            cr_assert_eq(bits, bits_of((float)value) | (half >> 15) << 31, "%04x", half);
        }
    }
}

Test(tensor, widens_bf16_exactly)
{
    for (uint32_t half = 0; half < 65536; half++) {
        cr_assert_eq(widen_one(OC_BF16, (uint16_t)half), half << 16);
    }
}

Test(tensor, widens_f32_bit_by_bit)
{
    /* 1, -0, the least denormal, infinity, a NaN with a payload; at an odd address. */
    static const uint32_t patterns[5] = {0x3f800000, 0x80000000, 1, 0x7f800000, 0x7fc12345};
    unsigned char bytes[1 + sizeof patterns];
    float out[5];
    memcpy(bytes + 1, patterns, sizeof patterns);
    oc_tensor tensor = {.data = bytes + 1, .bytes = 20, .dtype = OC_F32, .rank = 1, .shape = {5}};
    oc_tensor_widen(&tensor, 0, 5, out);
    cr_assert_arr_eq((const unsigned char *)out, (const unsigned char *)patterns, sizeof patterns);
    oc_tensor_widen(&tensor, 3, 1, out);
    cr_assert_eq(bits_of(out[0]), 0x7f800000);
}

Test(tensor, dtypes)
{
    static const struct {
        const char *name, *label;
        size_t size;
        bool weight;
    } known[] = {
        {"F64", "f64", 8, false},         {"F32", "f32", 4, true},
        {"F16", "f16", 2, true},          {"BF16", "bf16", 2, true},
        {"I64", "i64", 8, false},         {"I32", "i32", 4, false},
        {"I16", "i16", 2, false},         {"I8", "i8", 1, false},
        {"U64", "u64", 8, false},         {"U32", "u32", 4, false},
        {"U16", "u16", 2, false},         {"U8", "u8", 1, false},
        {"BOOL", "bool", 1, false},       {"F8_E4M3", "f8_e4m3", 1, false},
        {"F8_E5M2", "f8_e5m2", 1, false},
    };
    oc_dtype dtype;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        cr_assert(oc_dtype_from_name(known[i].name, &dtype));
        cr_assert_str_eq(oc_dtype_name(dtype), known[i].name);
        cr_assert_str_eq(oc_dtype_label(dtype), known[i].label);
        cr_assert_eq(oc_dtype_size(dtype), known[i].size);
        cr_assert_eq(oc_dtype_is_weight(dtype), known[i].weight);
    }
    cr_assert_not(oc_dtype_from_name("f32", &dtype));
    cr_assert_not(oc_dtype_from_name("", &dtype));
    cr_assert_not(oc_dtype_from_name("F32 ", &dtype));
}

Test(tensor, shape_text)
{
    char text[32];
    oc_tensor tensor = {.rank = 2, .shape = {2048, 256}};
    oc_tensor_shape_text(&tensor, text, sizeof text);
    cr_assert_str_eq(text, "[2048, 256]");
    tensor.rank = 0;
    oc_tensor_shape_text(&tensor, text, sizeof text);
    cr_assert_str_eq(text, "[]");
    oc_tensor wide = {.rank = 8, .shape = {INT64_MAX, INT64_MAX, 1, 1, 1, 1, 1, 1}};
    oc_tensor_shape_text(&wide, text, sizeof text);
    cr_assert_eq(strlen(text), sizeof text - 1); /* cut, and ended */
    cr_assert_eq(strncmp(text, "[9223372036854775807, 9", 23), 0);
    text[0] = 'x';
    oc_tensor_shape_text(&tensor, text, 0);
    cr_assert_eq(text[0], 'x');
    oc_tensor_shape_text(&tensor, text, 1);
    cr_assert_eq(text[0], '\0');
}

Test(tensor, name_label)
{
    char name[400];
    char label[OC_LABEL_ROOM];
    cr_assert_str_eq(oc_name_label("lm_head.weight", label), "lm_head.weight");
    /* Cut between characters: 127 bytes of n, then two-byte letters. */
    memset(name, 'n', sizeof name);
    for (size_t i = 127; i + 2 < sizeof name; i += 2) {
        memcpy(name + i, "\xc3\xa4", 2);
    }
    name[sizeof name - 1] = '\0';
    oc_name_label(name, label);
    cr_assert_eq(strlen(label), 130);
    cr_assert_str_eq(label + 126, "n...");
    memset(name, 'n', OC_LABEL_ROOM - 1);
    name[OC_LABEL_ROOM - 1] = '\0';
    cr_assert_str_eq(oc_name_label(name, label), name);
}
