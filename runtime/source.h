/* source.h - where a model comes from: a checkpoint folder, a package, or GGUF files. Whoever opens
 * or packs a model asks here for its configuration, weights, tokenizer and template and need not
 * know which of them it was. */
#ifndef OC_SOURCE_H
#define OC_SOURCE_H

#include "runtime/base/buffer.h"
#include "runtime/config.h"
#include "runtime/gguf_config.h"
#include "runtime/weights/weights.h"
#include "text/bpe.h"
#include "text/chat.h"

typedef enum oc_source_form {
    OC_SOURCE_CHECKPOINT,
    OC_SOURCE_PACKAGE,
    OC_SOURCE_GGUF
} oc_source_form;

typedef struct oc_source {
    oc_source_form form;
    char *name; /* as the caller gave it; of GGUF files the text model's path */
    /* Of GGUF files only: */
    oc_gguf *text, *vision; /* vision NULL: a model that only reads text */
    char *choice;           /* then, if several vision files lie beside it: "a.gguf, b.gguf" */
    oc_gguf_config config;
    oc_buffer tokenizer; /* tokenizer.json; empty until it is asked for */
} oc_source;

/* path: a folder with config.json and weights; a package; a GGUF text model; or a folder that holds
 * exactly one of them and at most one vision file, and no checkpoint. vision: the vision file
 * (mmproj) of a GGUF text model, NULL: the folder's, or for a file by itself the only one beside
 * it that fits, or none. OCELLI_E_IO, OCELLI_E_ARGUMENT (a vision file beside what is no GGUF
 * model), OCELLI_E_FORMAT, OCELLI_E_UNSUPPORTED; two files that do not belong together as
 * oc_gguf_config_make says. */
ocelli_status oc_source_open(oc_source *out, const char *path, const char *vision,
                             ocelli_error *err);
/* OCELLI_E_ARGUMENT: it cannot see for want of a vision file. so: "so it cannot see". */
ocelli_status oc_source_fail_blind(const oc_source *source, const char *so, ocelli_error *err);
/* Accepts a zero one. Weights that were opened from it must be closed before. */
void oc_source_close(oc_source *source);
/* "checkpoint", "package", "gguf" */
const char *oc_source_form_name(oc_source_form form);

ocelli_status oc_source_config(const oc_source *source, oc_config *out, ocelli_error *err);
/* Of a checkpoint or GGUF files; a package has two files of weights. config: of this source. */
ocelli_status oc_source_weights(const oc_source *source, const oc_config *config, oc_weights **out,
                                ocelli_error *err);
/* The type that holds the most bytes of the text model. */
oc_dtype oc_source_dtype(const oc_weights *weights);
ocelli_status oc_source_tokenizer(oc_source *source, size_t id_limit, oc_bpe **out,
                                  ocelli_error *err);
ocelli_status oc_source_template(const oc_source *source, oc_chat_style style,
                                 oc_chat_template *out, ocelli_error *err);

/* One of the text files of the model, by the name it has in a checkpoint; *text [*size] is NULL if
 * the model has none. *owned: free it with oc_free; else it lives as long as the source. The
 * tokenizer must have been asked for before. */
ocelli_status oc_source_file(const oc_source *source, const char *name, const char **text,
                             size_t *size, bool *owned, ocelli_error *err);

#endif
