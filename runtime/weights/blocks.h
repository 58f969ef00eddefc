/* blocks.h - the block formats of GGUF files: so many numbers to small codes with shared scales.
 *
 * Here they are only read. What a matrix is held as while it computes is kernels/quant_format.h's. */
#ifndef OC_WEIGHTS_BLOCKS_H
#define OC_WEIGHTS_BLOCKS_H

#include "runtime/weights/tensor.h"

/* Values of the largest block. */
enum { OC_BLOCK_MOST = 256 };

/* One block, oc_dtype_size bytes at any alignment, to out [oc_dtype_block]. Every product of
 * factors is exact in float32 before the last operation, so each value is rounded once at most and
 * the bits are those of any other decoder of the format. dtype must be one of blocks. */
void oc_block_widen(oc_dtype dtype, const unsigned char *block, float *out);

#endif
