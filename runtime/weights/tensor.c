/* tensor.c - see tensor.h. */
#include "runtime/weights/tensor.h"

#include "runtime/base/memory.h"
#include "runtime/kernels/half.h"
#include "runtime/weights/blocks.h"

#include <stdio.h>
#include <string.h>

/* Indexed by oc_dtype. */
static const struct {
    const char *name, *label;
    size_t size;
    size_t block; /* values in size bytes */
} dtypes[] = {
    [OC_F64] = {"F64", "f64", 8, 1},
    [OC_F32] = {"F32", "f32", 4, 1},
    [OC_F16] = {"F16", "f16", 2, 1},
    [OC_BF16] = {"BF16", "bf16", 2, 1},
    [OC_I64] = {"I64", "i64", 8, 1},
    [OC_I32] = {"I32", "i32", 4, 1},
    [OC_I16] = {"I16", "i16", 2, 1},
    [OC_I8] = {"I8", "i8", 1, 1},
    [OC_U64] = {"U64", "u64", 8, 1},
    [OC_U32] = {"U32", "u32", 4, 1},
    [OC_U16] = {"U16", "u16", 2, 1},
    [OC_U8] = {"U8", "u8", 1, 1},
    [OC_BOOL] = {"BOOL", "bool", 1, 1},
    [OC_F8_E4M3] = {"F8_E4M3", "f8_e4m3", 1, 1},
    [OC_F8_E5M2] = {"F8_E5M2", "f8_e5m2", 1, 1},
    [OC_Q8_0] = {"Q8_0", "q8_0", 34, 32},
    [OC_Q4_0] = {"Q4_0", "q4_0", 18, 32},
    [OC_Q4_1] = {"Q4_1", "q4_1", 20, 32},
    [OC_Q5_0] = {"Q5_0", "q5_0", 22, 32},
    [OC_Q5_1] = {"Q5_1", "q5_1", 24, 32},
    [OC_Q2_K] = {"Q2_K", "q2_K", 84, 256},
    [OC_Q3_K] = {"Q3_K", "q3_K", 110, 256},
    [OC_Q4_K] = {"Q4_K", "q4_K", 144, 256},
    [OC_Q5_K] = {"Q5_K", "q5_K", 176, 256},
    [OC_Q6_K] = {"Q6_K", "q6_K", 210, 256},
    [OC_IQ4_NL] = {"IQ4_NL", "iq4_nl", 18, 32},
    [OC_IQ4_XS] = {"IQ4_XS", "iq4_xs", 136, 256},
};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

const char *oc_dtype_name(oc_dtype dtype)
{
    return (size_t)dtype < DTYPES ? dtypes[dtype].name : "?";
}

const char *oc_dtype_label(oc_dtype dtype)
{
    return (size_t)dtype < DTYPES ? dtypes[dtype].label : "?";
}

bool oc_dtype_from_name(const char *name, oc_dtype *out)
{
    for (size_t i = 0; i < DTYPES; i++) {
        if (dtypes[i].block == 1 && strcmp(name, dtypes[i].name) == 0) {
            *out = (oc_dtype)i;
            return true;
        }
    }
    return false;
}

size_t oc_dtype_size(oc_dtype dtype)
{
    return (size_t)dtype < DTYPES ? dtypes[dtype].size : 0;
}

size_t oc_dtype_block(oc_dtype dtype)
{
    return (size_t)dtype < DTYPES ? dtypes[dtype].block : 1;
}

bool oc_dtype_bytes(oc_dtype dtype, size_t values, size_t *out)
{
    size_t block = oc_dtype_block(dtype);
    return values % block == 0 && oc_size_mul(values / block, oc_dtype_size(dtype), out);
}

bool oc_dtype_is_weight(oc_dtype dtype)
{
    return dtype == OC_F32 || dtype == OC_F16 || dtype == OC_BF16 || oc_dtype_block(dtype) > 1;
}

void oc_tensor_shape_text(const oc_tensor *tensor, char *text, size_t room)
{
    size_t used = 0;
    if (room == 0) {
        return;
    }
    text[0] = '\0';
    for (int i = 0; i <= tensor->rank; i++) {
        int more = i == tensor->rank ? snprintf(text + used, room - used, i == 0 ? "[]" : "]")
                                     : snprintf(text + used, room - used, "%s%lld",
                                                i == 0 ? "[" : ", ", (long long)tensor->shape[i]);
        if (more < 0 || (size_t)more >= room - used) {
            return; /* full: snprintf has ended it */
        }
        used += (size_t)more;
    }
}

const char *oc_name_label(const char *name, char label[OC_LABEL_ROOM])
{
    size_t length = strlen(name);
    if (length < OC_LABEL_ROOM) {
        memcpy(label, name, length + 1);
        return label;
    }
    size_t cut = OC_LABEL_ROOM - 4;
    while (cut > 0 && ((unsigned char)name[cut] & 0xc0) == 0x80) {
        cut--; /* not inside a character */
    }
    memcpy(label, name, cut);
    memcpy(label + cut, "...", 4);
    return label;
}

size_t oc_tensor_offset(const oc_tensor *tensor, size_t first)
{
    return first / oc_dtype_block(tensor->dtype) * oc_dtype_size(tensor->dtype);
}

/* Whole blocks go straight to out, what is wanted of the first and the last through a block of
 * floats. */
static void widen_blocks(const oc_tensor *tensor, size_t first, size_t count, float *out)
{
    size_t block = oc_dtype_block(tensor->dtype);
    while (count > 0) {
        const unsigned char *from =
            (const unsigned char *)tensor->data + oc_tensor_offset(tensor, first);
        size_t skip = first % block;
        size_t taken = count < block - skip ? count : block - skip;
        if (taken == block) {
            oc_block_widen(tensor->dtype, from, out);
        } else {
            float values[OC_BLOCK_MOST];
            oc_block_widen(tensor->dtype, from, values);
            memcpy(out, values + skip, taken * sizeof *out);
        }
        first += taken;
        out += taken;
        count -= taken;
    }
}

void oc_tensor_widen(const oc_tensor *tensor, size_t first, size_t count, float *out)
{
    if (count == 0) {
        return; /* of an empty tensor there is nothing to point at */
    }
    if (oc_dtype_block(tensor->dtype) > 1) {
        widen_blocks(tensor, first, count, out);
        return;
    }
    const unsigned char *from =
        (const unsigned char *)tensor->data + oc_tensor_offset(tensor, first);
    switch (tensor->dtype) {
    case OC_F32: memcpy(out, from, count * sizeof *out); break;
    case OC_BF16:
        for (size_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, from + 2 * i, sizeof half);
            out[i] = oc_bf16_widen(half);
        }
        break;
    case OC_F16:
        for (size_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, from + 2 * i, sizeof half);
            out[i] = oc_f16_widen(half);
        }
        break;
    default: memset(out, 0, count * sizeof *out); break; /* callers check the dtype first */
    }
}
