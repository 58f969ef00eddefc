/* gguf_config.h - the metadata of GGUF files in the form of a checkpoint's JSON files.
 *
 * There is one reader of configurations, with one set of limits (config.h): what a GGUF file says
 * is written as the JSON that it stands for and read by it. The same texts are what `pack` puts
 * beside the weights, so that a package of a GGUF file is like any other. */
#ifndef OC_GGUF_CONFIG_H
#define OC_GGUF_CONFIG_H

#include "runtime/weights/gguf.h"

typedef struct oc_gguf_config {
    char *config;       /* config.json; without a vision_config if there is no vision file */
    char *preprocessor; /* preprocessor_config.json; NULL: no vision file */
    char *video;        /* video_preprocessor_config.json; the same */
    char *generation;   /* generation_config.json */
} oc_gguf_config;

/* What the two files are, by general.architecture. *vision: it is a vision file (mmproj), else the
 * text model of a known family. OCELLI_E_UNSUPPORTED for anything else, naming what it is. */
ocelli_status oc_gguf_is_vision(const oc_gguf *file, bool *vision, ocelli_error *err);

/* vision: the file that belongs to text, or NULL. Keys must be there with the type they have in
 * llama.cpp's files; numbers are checked by whoever reads the JSON. What is in no key is found
 * here: the ids of the vision tokens by their text, the head's tie by output.weight. Released
 * models' pixel limits of pictures and clips are written, since the files do not keep them. OCELLI_E_FORMAT; for two
 * files that do not belong together both widths, or both counts of deepstack taps, are named.
 * OCELLI_E_UNSUPPORTED for another projector. */
ocelli_status oc_gguf_config_make(oc_gguf_config *out, const oc_gguf *text, const oc_gguf *vision,
                                  ocelli_error *err);
void oc_gguf_config_close(oc_gguf_config *texts);

#endif
