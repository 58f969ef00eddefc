/* decoder_weights.h - the decoder's weights as its forward pass sees them. */
#ifndef OC_TEXT_DECODER_WEIGHTS_H
#define OC_TEXT_DECODER_WEIGHTS_H

#include "text/decoder.h"
#include "text/head.h"

typedef struct oc_decoder_layer {
    const float *input_norm;                         /* [hidden] */
    oc_matrix query, key, value;                     /* [heads or kv_heads * head_dim, hidden] */
    const float *query_bias, *key_bias, *value_bias; /* NULL unless attention_bias */
    const float *query_norm, *key_norm;              /* [head_dim]; NULL with plain_heads */
    oc_matrix output;                                /* [hidden, heads * head_dim] */
    const float *output_bias;
    const float *post_norm; /* [hidden] */
    oc_matrix gate, up;     /* [intermediate, hidden]; dense layers */
    oc_matrix down;         /* [hidden, intermediate] */
    oc_matrix router;       /* [experts, hidden], float32; sparse layers */
    oc_expert *experts;     /* [experts]; NULL: a dense layer */
} oc_decoder_layer;

struct oc_decoder {
    oc_decoder_config config;
    oc_decoder_layer *layers; /* [layers] */
    oc_head head;             /* the final norm and the lm_head */
    float *inverse;           /* [head_dim / 2], see mrope.h */
    uint8_t *axis;            /* [head_dim / 2] */
};

#endif
