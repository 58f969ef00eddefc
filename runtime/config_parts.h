/* config_parts.h - the readers that config.c is made of. */
#ifndef OC_CONFIG_PARTS_H
#define OC_CONFIG_PARTS_H

#include "runtime/base/json.h"
#include "runtime/config.h"

/* config.json's vision_config; the decoder must have been read. */
ocelli_status oc_config_read_vision(oc_config *config, oc_json_object top, ocelli_error *err);
/* preprocessor_config.json and video_preprocessor_config.json. */
ocelli_status oc_config_read_images(oc_config *config, oc_json_object top, ocelli_error *err);
ocelli_status oc_config_read_videos(oc_config *config, oc_json_object top, ocelli_error *err);
/* Adds object's eos_token_id, a number or a list. */
ocelli_status oc_config_add_eos(oc_config *config, oc_json_object object, ocelli_error *err);
/* If key is there, it must be the string wanted. OCELLI_E_UNSUPPORTED. */
ocelli_status oc_config_require_text(oc_json_object object, const char *key, const char *wanted,
                                     ocelli_error *err);
/* A whole number that must be there if fallback is 0, and else need not. */
ocelli_status oc_config_size(oc_json_object object, const char *key, int64_t least, int64_t most,
                             int64_t fallback, size_t *out, ocelli_error *err);

#endif
