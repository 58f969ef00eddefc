/* gguf_names.h - the tensors of llama.cpp's Qwen3-VL files and what the Hugging Face checkpoint
 * calls them: the one table of these names. */
#ifndef OC_WEIGHTS_GGUF_NAMES_H
#define OC_WEIGHTS_GGUF_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { OC_GGUF_NAME_ROOM = 128 };

/* The two time slices of the patch kernel, [width, 3, patch, patch] each, and what they are
 * together: [width, 3, 2, patch, patch]. */
#define OC_GGUF_PATCH_SLICE_0 "v.patch_embd.weight"
#define OC_GGUF_PATCH_SLICE_1 "v.patch_embd.weight.1"
#define OC_GGUF_PATCH_KERNEL "model.visual.patch_embed.proj.weight"

/* How the checkpoint's names of what is in the vision file begin. */
#define OC_GGUF_TOWER "model.visual."

/* The vision blocks that deepstack taps, in the order of their mergers. */
typedef struct oc_gguf_taps {
    const size_t *blocks; /* [count] */
    size_t count;
} oc_gguf_taps;

/* The Hugging Face name of a tensor, and the other way round. False: not in the table, or a tap
 * that taps does not list. The gate and up projections of experts, which the checkpoint has fused,
 * become "<fused name>.gate" and ".up" (see oc_loader_expert). */
bool oc_gguf_checkpoint_name(const char *name, const oc_gguf_taps *taps,
                             char out[OC_GGUF_NAME_ROOM]);
bool oc_gguf_file_name(const char *checkpoint_name, const oc_gguf_taps *taps,
                       char out[OC_GGUF_NAME_ROOM]);

#endif
