/* family.h - the table of model families: the only place that knows their names.
 *
 * A row says what a family's files leave unsaid: what a missing key means, and which of the towers'
 * and the prompt's steps it takes. Zero is what Qwen3-VL does, so that a row lists differences. */
#ifndef OC_FAMILY_H
#define OC_FAMILY_H

#include "runtime/weights/weights.h"
#include "text/chat.h"
#include "vision/vit.h"

/* The decoder's part of config.json. */
typedef struct oc_text_rules {
    bool flat;              /* its keys may stand at the top, without a text_config */
    bool head_dim_is_share; /* without the key it is hidden_size / num_attention_heads */
    int64_t head_dim;       /* else this */
    /* Without the key; 0: the key must be there. */
    double rms_norm_eps;
    double rope_theta;
    int64_t mrope_section[3];  /* without the key */
    bool chunked;              /* the sections stand one after another, not interleaved */
    bool query_key_value_bias; /* these three have biases and o_proj has none, whatever a key says;
                                * else attention_bias says it of all four */
    bool plain_heads;          /* no norm on queries and keys */
} oc_text_rules;

/* vision_config and the processors' files. */
typedef struct oc_vision_rules {
    const char *width_key, *out_key; /* width of the tower, width of its output */
    const char *ratio_key; /* the feed-forward is so many times as wide; NULL: intermediate_size */
    /* Without the keys; 0: the key must be there. */
    int64_t depth, width, heads, intermediate, ratio, out, patch_size;
    const char *hidden_act; /* if the key is there it must say this */
    bool learned_positions; /* num_position_embeddings and deepstack_visual_indexes are read */
    bool windows;           /* window_size and fullatt_block_indexes are read */
    int64_t window_size;    /* pixels, without the key */
    int64_t whole[4];       /* fullatt_block_indexes without the key */
    bool plain_patches, numbered_merger; /* see oc_vit_config */
    oc_vit_norm norm;
    oc_vit_mlp mlp;
    float mean[3], deviation[3];     /* without image_mean, image_std */
    int64_t image_least, image_most; /* pixels, without a size */
    int64_t video_least, video_most; /* the same of a clip */
    /* Of a clip, in the released models' files; what GGUF files stand for. */
    int64_t released_video_least, released_video_most;
} oc_vision_rules;

/* How a clip stands in the prompt. */
typedef enum oc_clip_style {
    OC_CLIP_PAIRS,   /* every frame pair is a block of its own behind "<0.2 seconds>"; its size is
                     * chosen for the whole clip; frames are sampled evenly from first to last */
    OC_CLIP_INDEXED, /* one run of pads, the time axis counts frame pairs; every frame's size is
                      * chosen as a picture's; an even number of frames is sampled */
    OC_CLIP_TIMED    /* the same, but the time axis counts tokens_per_second */
} oc_clip_style;

/* How a family says where something is in a picture, in its answer's text. */
typedef enum oc_ground_style {
    OC_GROUND_THOUSANDTHS, /* JSON: bbox_2d, point_2d, in thousandths of the picture's sides */
    OC_GROUND_PIXELS,      /* the same JSON, in pixels of the resized picture */
    OC_GROUND_PAIRS        /* "name(x1,y1),(x2,y2)", in thousandths; boxes only */
} oc_ground_style;

typedef struct oc_family {
    const char *model_type; /* config.json's */
    const char *gguf;       /* general.architecture of a text model; NULL: not read from GGUF */
    const char *projector;  /* clip.projector_type of its vision file */
    bool experts;           /* the decoder may have sparse layers */
    const oc_text_rules *text;
    const oc_vision_rules *vision;
    oc_clip_style clip;
    double tokens_per_second; /* OC_CLIP_TIMED, without the key */
    oc_chat_style chat;
    oc_ground_style ground;
    const oc_name_alias *aliases; /* [alias_count]: other beginnings of tensor names */
    size_t alias_count;
} oc_family;

/* NULL: not known. */
const oc_family *oc_family_find(const char *model_type);
/* The same by the architecture [length] of a GGUF file. */
const oc_family *oc_family_find_gguf(const char *architecture, size_t length);
/* The i-th, NULL past the last: for messages. */
const oc_family *oc_family_at(int index);

#endif
