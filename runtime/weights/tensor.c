/* tensor.c - see tensor.h. */
#include "runtime/weights/tensor.h"

#include "runtime/kernels/half.h"

#include <stdio.h>
#include <string.h>

/* Indexed by oc_dtype. */
static const struct {
    const char *name, *label;
    size_t size;
} dtypes[] = {
    [OC_F64] = {"F64", "f64", 8},
    [OC_F32] = {"F32", "f32", 4},
    [OC_F16] = {"F16", "f16", 2},
    [OC_BF16] = {"BF16", "bf16", 2},
    [OC_I64] = {"I64", "i64", 8},
    [OC_I32] = {"I32", "i32", 4},
    [OC_I16] = {"I16", "i16", 2},
    [OC_I8] = {"I8", "i8", 1},
    [OC_U64] = {"U64", "u64", 8},
    [OC_U32] = {"U32", "u32", 4},
    [OC_U16] = {"U16", "u16", 2},
    [OC_U8] = {"U8", "u8", 1},
    [OC_BOOL] = {"BOOL", "bool", 1},
    [OC_F8_E4M3] = {"F8_E4M3", "f8_e4m3", 1},
    [OC_F8_E5M2] = {"F8_E5M2", "f8_e5m2", 1},
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
        if (strcmp(name, dtypes[i].name) == 0) {
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

bool oc_dtype_is_weight(oc_dtype dtype)
{
    return dtype == OC_F32 || dtype == OC_F16 || dtype == OC_BF16;
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

void oc_tensor_widen(const oc_tensor *tensor, size_t first, size_t count, float *out)
{
    size_t size = oc_dtype_size(tensor->dtype);
    if (count == 0) {
        return; /* of an empty tensor there is nothing to point at */
    }
    const unsigned char *from = (const unsigned char *)tensor->data + first * size;
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
