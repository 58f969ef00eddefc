/* synth_config.h - config.json and its companions for a published shape, or from one given. */
#ifndef OCELLI_TOOLS_SYNTH_CONFIG_H
#define OCELLI_TOOLS_SYNTH_CONFIG_H

#include "tools/model_shape.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tokens that a config names; the other added tokens follow from the tokenizer. */
typedef struct synth_ids {
    int64_t end_of_text, im_end, vision_start, vision_end, image_pad, video_pad;
} synth_ids;

/* The i-th published shape's name; NULL at the end. user is not used (flags_nearest's form). */
const char *synth_shape_name(size_t index, void *user);

/* The config of a published shape, for the caller to delete; NULL if there is none of that name. */
cJSON *synth_config_of_shape(const char *name);

/* Cuts the decoder down to so many layers, and the tower to no more blocks than that (or than it
 * has taps). False after a message. */
bool synth_config_cut(cJSON *config, uint64_t layers, const char *name);

/* The ids that a config names; the defaults of the published ones where it does not. */
void synth_config_ids(const cJSON *config, synth_ids *out);
void synth_config_set_ids(cJSON *config, const synth_ids *ids);

/* generation_config.json, preprocessor_config.json and video_preprocessor_config.json, for the
 * caller to delete; NULL: no memory. The latter two take the patch from the config. (Older models
 * have no file for videos.) */
cJSON *synth_generation_config(const synth_ids *ids, const model_shape *shape);
cJSON *synth_processor_config(const cJSON *config, const model_shape *shape, bool video);

#endif
