/* vit_weights.h - the tower's weights as its forward pass sees them. */
#ifndef OC_VISION_VIT_WEIGHTS_H
#define OC_VISION_VIT_WEIGHTS_H

#include "vision/vit.h"

typedef struct oc_vit_block {
    const float *norm1_weight, *norm1_bias; /* [hidden]; biases of LayerNorm only */
    oc_matrix qkv;                          /* [3 * hidden, hidden]: q of all heads, k, v */
    const float *qkv_bias;
    oc_matrix projection; /* [hidden, hidden] */
    const float *projection_bias;
    const float *norm2_weight, *norm2_bias;
    oc_matrix gate; /* [intermediate, hidden]; with SwiGLU only */
    const float *gate_bias;
    oc_matrix fc1; /* [intermediate, hidden] */
    const float *fc1_bias;
    oc_matrix fc2; /* [hidden, intermediate] */
    const float *fc2_bias;
} oc_vit_block;

typedef struct oc_vit_merger {
    const float *norm_weight, *norm_bias; /* main: [hidden]; deepstack: [hidden * merge^2] */
    oc_matrix fc1;                        /* [hidden * merge^2, hidden * merge^2] */
    const float *fc1_bias;
    oc_matrix fc2; /* [out_hidden, hidden * merge^2] */
    const float *fc2_bias;
} oc_vit_merger;

struct oc_vit {
    oc_vit_config config;
    oc_matrix patch_embed;   /* [hidden, channels * temporal * P * P] */
    const float *patch_bias; /* [hidden] or NULL */
    oc_matrix positions;     /* [side * side, hidden], float32; without data if there are none */
    oc_vit_block *blocks;    /* [layers] */
    oc_vit_merger merger;
    oc_vit_merger *tap_mergers; /* [tap_count] */
};

/* Values in one patch row. */
size_t oc_vit_patch_values(const oc_vit_config *config);
/* The longest row any step of the pass writes, per patch. */
size_t oc_vit_widest_row(const oc_vit_config *config);

#endif
