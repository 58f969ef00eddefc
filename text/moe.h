/* moe.h - mixture of experts: softmax router, top k, each chosen expert a SwiGLU. */
#ifndef OC_TEXT_MOE_H
#define OC_TEXT_MOE_H

#include "text/decoder_weights.h"

/* x [rows, hidden] += experts(y [rows, hidden]). A row's experts are added in ascending order of
 * their number, so its bits do not depend on the other rows. A dry arena only counts. */
void oc_moe_add(const oc_decoder_config *config, const oc_decoder_layer *layer,
                const oc_compute *compute, oc_arena *arena, float *x, const float *y, size_t rows);

#endif
