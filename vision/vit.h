/* vit.h - the vision tower: patches of temporal groups to visual rows and deepstack rows.
 *
 * One tower, whose steps differ by family (the config says how, and zero is Qwen3-VL's):
 *
 *                   learned positions  norm       feed-forward  attention                    taps
 *     Qwen3-VL      bilinear           LayerNorm  tanh GELU     whole group                  listed
 *     Qwen2.5-VL    none               RMSNorm    SwiGLU        windows, listed ones whole   none
 *     Qwen2-VL      none               LayerNorm  quick GELU    whole group                  none
 *
 * All have two-axis rotary positions and mergers with the erf GELU. A temporal group is a picture,
 * or one frame pair of a clip. Groups never see one another: a long clip is encoded a few at a time,
 * and memory is that of these. Small ones of one size share a pass, which reads the weights once for
 * all; no bit depends on it. */
#ifndef OC_VISION_VIT_H
#define OC_VISION_VIT_H

#include "runtime/base/arena.h"
#include "runtime/base/hash.h"
#include "runtime/weights/loader.h"
#include "vision/patches.h"

/* Hugging Face names of the tower's tensors begin so. */
#define OC_VIT_PREFIX "model.visual."
/* The first that the tower asks for: without it a checkpoint cannot see. */
#define OC_VIT_FIRST_TENSOR OC_VIT_PREFIX "patch_embed.proj.weight"

enum { OC_VIT_MOST_TAPS = 16, OC_VIT_MOST_LAYERS = 512 };

typedef enum oc_vit_norm { OC_VIT_LAYER_NORM, OC_VIT_RMS_NORM } oc_vit_norm;

/* fc2(f(fc1(x))), and with a gate fc2(silu(gate(x)) * fc1(x)). */
typedef enum oc_vit_mlp {
    OC_VIT_GELU_TANH,  /* tensors mlp.linear_fc1, mlp.linear_fc2 */
    OC_VIT_GELU_QUICK, /* mlp.fc1, mlp.fc2 */
    OC_VIT_SWIGLU      /* mlp.gate_proj, mlp.up_proj (fc1), mlp.down_proj (fc2) */
} oc_vit_mlp;

/* Whatever changes what a tower computes is hashed in vit_identity.c too. */
typedef struct oc_vit_config {
    size_t layers, hidden, heads, head_dim, intermediate;
    size_t out_hidden;    /* width of a visual row = hidden size of the decoder */
    size_t position_side; /* the learned table is position_side x position_side; 0: none */
    bool plain_patches;   /* the patch embedding has no bias */
    bool numbered_merger; /* its tensors are ln_q, mlp.0, mlp.2: not norm, linear_fc1, .._fc2 */
    oc_vit_norm norm;     /* of blocks and mergers */
    oc_vit_mlp mlp;       /* of blocks */
    size_t window;        /* cells (merge blocks) along a window's side; 0: no windows */
    bool whole[OC_VIT_MOST_LAYERS]; /* with windows: this block attends to the whole group */
    size_t tap_count;               /* deepstack */
    size_t taps[OC_VIT_MOST_TAPS];  /* block indices, in the order of the decoder's layers */
    oc_patch_rule patch;            /* patch, temporal and merge sizes, normalisation */
} oc_vit_config;

typedef struct oc_vit oc_vit;

/* Told of intermediate rows [count, width]: "patch_embed", "after_pos", "block_0"... (tests). */
typedef void (*oc_trace_fn)(void *user, const char *name, const float *rows, size_t count,
                            size_t width);
typedef struct oc_trace {
    oc_trace_fn fn; /* NULL: nothing is told */
    void *user;
    bool names_only;  /* rows are NULL */
    const bool *stop; /* NULL, or looked at after every block: true ends the pass there */
} oc_trace;

/* Asks loader for every tensor of the tower, in the order that a package stores them. The loader
 * owns the weights and must outlive the tower. */
ocelli_status oc_vit_load(oc_vit **out, const oc_vit_config *config, oc_loader *loader,
                          ocelli_error *err);
void oc_vit_close(oc_vit *vit);
const oc_vit_config *oc_vit_get_config(const oc_vit *vit);
/* Which tower it is: of its config, and of every byte of its weights as they are held. Two towers of
 * one identity make the same rows of the same pixels with the same kernels. Reads all weights: a
 * tenth of a second a gigabyte. */
oc_hash oc_vit_identity(const oc_vit *vit);

/* Temporal groups of one size. Exactly one of patches and frames is given. */
typedef struct oc_vit_input {
    /* [groups * grid_h * grid_w, channels * temporal * P * P], a group in block order */
    const float *patches;
    /* [groups * temporal] pictures of uint8 [grid_h * P, grid_w * P, 3] */
    const uint8_t *const *frames;
    size_t groups;
    size_t grid_h, grid_w; /* in patches; multiples of the merge size */
} oc_vit_input;

/* Scratch bytes of one oc_vit_encode; false: more than fits size_t. */
bool oc_vit_scratch(const oc_vit *vit, const oc_compute *compute, size_t groups, size_t grid_h,
                    size_t grid_w, size_t *bytes);

/* rows [groups * tokens, out_hidden], tokens = grid_h * grid_w / merge^2; tap i's rows at taps + i *
 * tap_stride, same shape. arena must have oc_vit_scratch bytes free.
 * OCELLI_E_CANCELLED: trace->stop; rows and taps are then not whole. */
ocelli_status oc_vit_encode(const oc_vit *vit, const oc_compute *compute, oc_arena *arena,
                            const oc_vit_input *input, float *rows, float *taps, size_t tap_stride,
                            const oc_trace *trace, ocelli_error *err);

#endif
