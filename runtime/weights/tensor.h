/* tensor.h - a view of numbers in a mapped file; it owns nothing and is never freed. */
#ifndef OC_WEIGHTS_TENSOR_H
#define OC_WEIGHTS_TENSOR_H

#include "runtime/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum oc_dtype {
    OC_F64,
    OC_F32,
    OC_F16,
    OC_BF16,
    OC_I64,
    OC_I32,
    OC_I16,
    OC_I8,
    OC_U64,
    OC_U32,
    OC_U16,
    OC_U8,
    OC_BOOL,
    OC_F8_E4M3,
    OC_F8_E5M2,
    /* Blocks of a GGUF file (blocks.h); a row is a whole number of them. */
    OC_Q8_0,
    OC_Q4_0,
    OC_Q4_1,
    OC_Q5_0,
    OC_Q5_1,
    OC_Q2_K,
    OC_Q3_K,
    OC_Q4_K,
    OC_Q5_K,
    OC_Q6_K,
    OC_IQ4_NL,
    OC_IQ4_XS
} oc_dtype;

enum { OC_TENSOR_RANK = 8 };

typedef struct oc_tensor {
    const void *data; /* row-major, last axis contiguous; may be unaligned */
    size_t bytes;
    oc_dtype dtype;
    int rank;
    int64_t shape[OC_TENSOR_RANK]; /* unused axes are 1 */
} oc_tensor;

/* "BF16", as safetensors writes it; "bf16" in messages for people is oc_dtype_label. */
const char *oc_dtype_name(oc_dtype dtype);
const char *oc_dtype_label(oc_dtype dtype);
/* Only the dtypes that safetensors can name: blocks are found in GGUF files by number. */
bool oc_dtype_from_name(const char *name, oc_dtype *out);
/* Bytes of one value, of a block dtype: of one block; and the values that share them. */
size_t oc_dtype_size(oc_dtype dtype);
size_t oc_dtype_block(oc_dtype dtype);
/* Bytes of values numbers in a row. False (*out untouched) when they are not whole blocks or the
 * result does not fit. */
bool oc_dtype_bytes(oc_dtype dtype, size_t values, size_t *out);
/* F32, F16, BF16 or blocks: what weights may be. */
bool oc_dtype_is_weight(oc_dtype dtype);

/* "[2048, 256]" into text; always ends with NUL. */
void oc_tensor_shape_text(const oc_tensor *tensor, char *text, size_t room);

/* A name short enough for a message: at most 128 bytes of it, "..." for the rest. Gives label. */
enum { OC_LABEL_ROOM = 132 };
const char *oc_name_label(const char *name, char label[OC_LABEL_ROOM]);

/* The byte at which element index first stands; of a block dtype, at which its block begins. */
size_t oc_tensor_offset(const oc_tensor *tensor, size_t first);
/* Widens count elements from element index first exactly to float32; dtype F32, F16, BF16 or
 * blocks. Any alignment, any part of a block. */
void oc_tensor_widen(const oc_tensor *tensor, size_t first, size_t count, float *out);

#endif
