/* source.c - see source.h. What a folder of GGUF files holds is source_folder.c's. */
#include "runtime/source.h"

#include "runtime/base/file.h"
#include "runtime/base/json.h"
#include "runtime/base/memory.h"
#include "runtime/package.h"
#include "runtime/source_folder.h"
#include "text/bpe_gguf.h"

#include <string.h>

static const char template_key[] = "tokenizer.chat_template";

const char *oc_source_form_name(oc_source_form form)
{
    return form == OC_SOURCE_PACKAGE ? "package" : form == OC_SOURCE_GGUF ? "gguf" : "checkpoint";
}

/* ---- opening -------------------------------------------------------------------------------- */

/* One of the pair; which must be what it is given for. */
static ocelli_status open_part(oc_gguf **out, const char *path, bool wants_vision,
                               ocelli_error *err)
{
    bool is_vision;
    OC_TRY(oc_gguf_open(out, path, err));
    OC_TRY(oc_gguf_is_vision(*out, &is_vision, err));
    if (is_vision == wants_vision) {
        return OCELLI_OK;
    }
    return wants_vision ? oc_fail(err, OCELLI_E_ARGUMENT,
                                  "%s: is a text model, not a vision file; give the model's mmproj "
                                  "file (mmproj-*.gguf)",
                                  path)
                        : oc_fail(err, OCELLI_E_ARGUMENT,
                                  "%s: is a vision file (mmproj), not a text model; give the text "
                                  "model, and this file with --mmproj",
                                  path);
}

static ocelli_status open_files(oc_source *out, const char *text, const char *vision,
                                ocelli_error *err)
{
    OC_TRY(open_part(&out->text, text, false, err));
    if (vision != NULL) {
        OC_TRY(open_part(&out->vision, vision, true, err));
    }
    return oc_gguf_config_make(&out->config, out->text, out->vision, err);
}

/* A text model by itself, with the one vision file beside it that fits, if no other does. */
static ocelli_status open_text(oc_source *out, const char *path, ocelli_error *err)
{
    char *vision;
    OC_TRY(open_part(&out->text, path, false, err));
    OC_TRY(oc_source_beside(&vision, &out->choice, out->text, err));
    ocelli_status status = vision != NULL ? open_part(&out->vision, vision, true, err) : OCELLI_OK;
    oc_free(vision);
    OC_TRY(status);
    return oc_gguf_config_make(&out->config, out->text, out->vision, err);
}

/* path is a folder, or nothing at all. */
static ocelli_status open_folder(oc_source *out, const char *path, const char *vision,
                                 ocelli_error *err)
{
    bool gguf = false;
    if (oc_package_is(path)) {
        out->form = OC_SOURCE_PACKAGE;
    } else {
        OC_TRY(oc_source_folder_look(path, &gguf, err));
    }
    if (gguf) {
        oc_source_folder found;
        out->form = OC_SOURCE_GGUF;
        OC_TRY(oc_source_folder_open(&found, path, vision == NULL, err));
        ocelli_status status =
            open_files(out, found.text, vision != NULL ? vision : found.vision, err);
        oc_source_folder_close(&found);
        return status;
    }
    if (vision != NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "%s: is no GGUF text model, so a vision file of its own (%s) does not go "
                       "with it",
                       path, vision);
    }
    return OCELLI_OK;
}

ocelli_status oc_source_open(oc_source *out, const char *path, const char *vision,
                             ocelli_error *err)
{
    *out = (oc_source){.name = oc_strdup(path)};
    ocelli_status status;
    if (out->name == NULL) {
        status = oc_fail_memory(err, "a model");
    } else if (oc_gguf_is(path) || (oc_source_is_gguf_name(path) && !oc_file_is_directory(path))) {
        out->form = OC_SOURCE_GGUF;
        status = vision != NULL ? open_files(out, path, vision, err) : open_text(out, path, err);
    } else {
        status = open_folder(out, path, vision, err);
    }
    if (status != OCELLI_OK) {
        oc_source_close(out);
    }
    return status;
}

void oc_source_close(oc_source *source)
{
    oc_gguf_config_close(&source->config);
    oc_buffer_close(&source->tokenizer);
    oc_gguf_close(source->vision);
    oc_gguf_close(source->text);
    oc_free(source->choice);
    oc_free(source->name);
    *source = (oc_source){0};
}

ocelli_status oc_source_fail_blind(const oc_source *source, const char *so, ocelli_error *err)
{
    return source->choice != NULL
               ? oc_fail(err, OCELLI_E_ARGUMENT,
                         "%s: a text model without its vision file, %s; give one of those beside "
                         "it too (mmproj): %s",
                         source->name, so, source->choice)
               : oc_fail(err, OCELLI_E_ARGUMENT,
                         "%s: a text model without its vision file, %s; give its vision file too "
                         "(mmproj: the mmproj-*.gguf that belongs to it)",
                         source->name, so);
}

/* ---- what it holds -------------------------------------------------------------------------- */

ocelli_status oc_source_config(const oc_source *source, oc_config *out, ocelli_error *err)
{
    if (source->form != OC_SOURCE_GGUF) {
        return oc_config_read(out, source->name, err);
    }
    oc_config_texts texts = {.name = source->text->path,
                             .config = source->config.config,
                             .preprocessor = source->config.preprocessor,
                             .video = source->config.video,
                             .generation = source->config.generation};
    return oc_config_read_texts(out, &texts, err);
}

ocelli_status oc_source_weights(const oc_source *source, const oc_config *config, oc_weights **out,
                                ocelli_error *err)
{
    if (source->form == OC_SOURCE_GGUF) {
        return oc_weights_open_gguf(out, source->text, source->vision, err);
    }
    OC_TRY(oc_weights_open(out, source->name, err));
    oc_weights_set_aliases(*out, config->family->aliases, config->family->alias_count);
    return OCELLI_OK;
}

oc_dtype oc_source_dtype(const oc_weights *weights)
{
    uint64_t bytes[OC_IQ4_XS + 1] = {0};
    const char *name;
    oc_tensor tensor;
    oc_dtype most = OC_F32;
    for (size_t i = 0; oc_weights_at(weights, i, &name, &tensor); i++) {
        if (oc_dtype_is_weight(tensor.dtype) && !oc_weights_begins(weights, name, OC_VIT_PREFIX)) {
            bytes[tensor.dtype] += tensor.bytes;
            most = bytes[tensor.dtype] > bytes[most] ? tensor.dtype : most;
        }
    }
    return most;
}

ocelli_status oc_source_tokenizer(oc_source *source, size_t id_limit, oc_bpe **out,
                                  ocelli_error *err)
{
    *out = NULL;
    if (source->form != OC_SOURCE_GGUF) {
        return oc_bpe_open(out, source->name, id_limit, err);
    }
    if (source->tokenizer.length == 0) {
        OC_TRY(oc_bpe_gguf_write(&source->tokenizer, source->text, err));
    }
    return oc_bpe_open_text(out, source->text->path, source->tokenizer.data,
                            source->tokenizer.length, id_limit, err);
}

/* NULL: there is none. */
static void find_template(const oc_source *source, const char **text, size_t *size)
{
    *text = NULL;
    *size = 0;
    const oc_gguf_value *found = oc_gguf_find(source->text, template_key);
    if (found != NULL && found->type == OC_GGUF_STRING) {
        *text = (const char *)found->data;
        *size = (size_t)found->count;
    }
}

ocelli_status oc_source_template(const oc_source *source, oc_chat_style style,
                                 oc_chat_template *out, ocelli_error *err)
{
    const char *text;
    size_t size;
    if (source->form != OC_SOURCE_GGUF) {
        return oc_chat_check_template(source->name, style, out, err);
    }
    find_template(source, &text, &size);
    *out = text != NULL ? oc_chat_judge_template(text, size, style) : OC_TEMPLATE_ABSENT;
    return OCELLI_OK;
}

static ocelli_status read_file(const char *folder, const char *name, const char **text,
                               size_t *size, ocelli_error *err)
{
    char *path = oc_path_join(folder, name);
    char *bytes = NULL;
    if (path == NULL) {
        return oc_fail_memory(err, name);
    }
    ocelli_status status =
        oc_file_exists(path) ? oc_file_read(&bytes, size, path, OC_JSON_LIMIT, err) : OCELLI_OK;
    *text = bytes;
    oc_free(path);
    return status;
}

ocelli_status oc_source_file(const oc_source *source, const char *name, const char **text,
                             size_t *size, bool *owned, ocelli_error *err)
{
    *text = NULL;
    *size = 0;
    *owned = source->form != OC_SOURCE_GGUF;
    if (*owned) {
        return read_file(source->name, name, text, size, err);
    }
    const struct {
        const char *name, *text;
    } made[] = {{"config.json", source->config.config},
                {"preprocessor_config.json", source->config.preprocessor},
                {"video_preprocessor_config.json", source->config.video},
                {"generation_config.json", source->config.generation},
                {"tokenizer.json", source->tokenizer.data}};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        if (strcmp(name, made[i].name) == 0 && made[i].text != NULL) {
            *text = made[i].text;
            *size = strlen(made[i].text);
            return OCELLI_OK;
        }
    }
    if (strcmp(name, "chat_template.jinja") == 0) {
        find_template(source, text, size);
    }
    return OCELLI_OK;
}
