/* config.h - a checkpoint's JSON files to the configs of the towers. Nothing is hard-coded that a
 * file says; everything is checked before a size is computed from it. */
#ifndef OC_CONFIG_H
#define OC_CONFIG_H

#include "fusion/scatter.h"
#include "runtime/family.h"
#include "text/decoder.h"
#include "vision/frames.h"
#include "vision/smart_size.h"
#include "vision/vit.h"

enum { OC_MOST_EOS = 16 };

typedef struct oc_config {
    const oc_family *family;
    bool text_only; /* there is no vision tower: vit and the sizes are zero */
    oc_vit_config vit;
    oc_decoder_config decoder; /* owns sparse */
    oc_pad_ids pads;
    int32_t eos[OC_MOST_EOS]; /* of generation_config.json and of text_config, without repeats */
    size_t eos_count;
    oc_size_rule image_size, video_size;
    double video_fps; /* sampling rate when the caller asks for the processor's default */
    uint64_t min_frames, max_frames;
    bool even_frames;         /* see oc_frame_rule */
    double tokens_per_second; /* of the time axis of clips; 0: it counts frame pairs */
} oc_config;

/* Reads config.json (required), preprocessor_config.json (required), generation_config.json and
 * video_preprocessor_config.json. decoder.tied is what the config says; where it says nothing, the
 * caller ties a model that has no lm_head. */
ocelli_status oc_config_read(oc_config *out, const char *directory, ocelli_error *err);
/* The same from JSON in memory: what a GGUF file's metadata say, in the form of those files. */
typedef struct oc_config_texts {
    const char *name;         /* of their source, for messages */
    const char *config;       /* config.json */
    const char *preprocessor; /* NULL: a model that only reads text, without a vision_config */
    const char *video;        /* video_preprocessor_config.json; NULL with the other */
    const char *generation;
} oc_config_texts;
ocelli_status oc_config_read_texts(oc_config *out, const oc_config_texts *texts, ocelli_error *err);
void oc_config_close(oc_config *config);

/* The times of a clip's frame pairs where the family has a clip as one block of the prompt
 * (media.h): *times gets them, [pairs], to be freed with oc_free; NULL where every pair is a block
 * of its own. seconds: from one frame pair to the next. */
ocelli_status oc_config_clip_times(int32_t **times, const oc_config *config, size_t pairs,
                                   double seconds, ocelli_error *err);

#endif
