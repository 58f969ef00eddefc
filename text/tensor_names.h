/* tensor_names.h - Hugging Face names of the decoder's tensors, each written down once. */
#ifndef OC_TEXT_TENSOR_NAMES_H
#define OC_TEXT_TENSOR_NAMES_H

#define OC_EMBED_TOKENS "model.language_model.embed_tokens.weight"
#define OC_FINAL_NORM "model.language_model.norm.weight"
#define OC_LM_HEAD "lm_head.weight"
#define OC_LAYER_PREFIX "model.language_model.layers."

#endif
