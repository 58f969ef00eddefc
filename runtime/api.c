/* api.c - the small public functions: version, names, rows of the table, and asking in one call. */
#include "runtime/model.h"
#include "vision/image.h"

#include <string.h>

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

const char *ocelli_version(void)
{
    return TEXT(OCELLI_VERSION_MAJOR) "." TEXT(OCELLI_VERSION_MINOR) "." TEXT(OCELLI_VERSION_PATCH);
}

const char *ocelli_build_info(void)
{
    return
#ifdef OCELLI_HAVE_BLAS
        "blas openblas"
#else
        "blas none"
#endif
#ifdef OCELLI_HAVE_UTF8PROC
        ", unicode utf8proc"
#else
        ", unicode ascii only"
#endif
        ", pictures " OC_IMAGE_FORMATS;
}

static const struct {
    ocelli_quant quant;
    const char *name;
} quants[] = {{OCELLI_QUANT_DEFAULT, "default"},
              {OCELLI_QUANT_F32, "f32"},
              {OCELLI_QUANT_F16, "f16"},
              {OCELLI_QUANT_Q8, "q8"},
              {OCELLI_QUANT_Q4, "q4"}};

const char *ocelli_quant_name(ocelli_quant quant)
{
    for (size_t i = 0; i < sizeof quants / sizeof *quants; i++) {
        if (quants[i].quant == quant) {
            return quants[i].name;
        }
    }
    return "unknown";
}

int ocelli_quant_from_name(const char *name, ocelli_quant *out)
{
    for (size_t i = 0; i < sizeof quants / sizeof *quants; i++) {
        if (strcmp(quants[i].name, name) == 0) {
            *out = quants[i].quant;
            return 0;
        }
    }
    return -1;
}

static const struct {
    ocelli_vision vision;
    const char *name;
} visions[] = {{OCELLI_VISION_DEFAULT, "default"},
               {OCELLI_VISION_F32, "f32"},
               {OCELLI_VISION_Q8, "q8"},
               {OCELLI_VISION_BF16, "bf16"}};

const char *ocelli_vision_name(ocelli_vision vision)
{
    for (size_t i = 0; i < sizeof visions / sizeof *visions; i++) {
        if (visions[i].vision == vision) {
            return visions[i].name;
        }
    }
    return "unknown";
}

int ocelli_vision_from_name(const char *name, ocelli_vision *out)
{
    for (size_t i = 0; i < sizeof visions / sizeof *visions; i++) {
        if (strcmp(visions[i].name, name) == 0) {
            *out = visions[i].vision;
            return 0;
        }
    }
    return -1;
}

ocelli_status ocelli_model_embed(const ocelli_model *model, const int32_t *ids, size_t count,
                                 float *out, ocelli_error *err)
{
    if (model == NULL || (count > 0 && (ids == NULL || out == NULL))) {
        return oc_fail(err, OCELLI_E_ARGUMENT, "ocelli_model_embed: model, ids and out are needed");
    }
    return oc_embed_table_gather(model->table, ids, count, out, err);
}

/* One user message: the picture, then the question. */
static ocelli_status ask(ocelli_model *model, const ocelli_visual *visual, const char *question,
                         const ocelli_generate_options *options, ocelli_piece_fn on_piece,
                         void *user, ocelli_result *result, ocelli_error *err)
{
    ocelli_session *session;
    const ocelli_part parts[2] = {{.visual = visual}, {.text = question}};
    OC_TRY(ocelli_session_open(&session, model, NULL, err));
    ocelli_status status = ocelli_session_add(session, OCELLI_USER, parts, 2, err);
    if (status == OCELLI_OK) {
        status = ocelli_session_generate(session, options, on_piece, user, result, err);
    }
    ocelli_session_close(session);
    return status;
}

ocelli_status ocelli_ask_file(ocelli_model *model, const char *image_path, const char *question,
                              const ocelli_generate_options *options, ocelli_piece_fn on_piece,
                              void *user, ocelli_result *result, ocelli_error *err)
{
    ocelli_image *image;
    ocelli_visual *visual;
    if (model == NULL || image_path == NULL || question == NULL) {
        return oc_fail(err, OCELLI_E_ARGUMENT,
                       "ocelli_ask_file: model, image_path and question are needed");
    }
    OC_TRY(ocelli_image_load(&image, image_path, NULL, err));
    ocelli_status status = ocelli_encode_image(&visual, model, image, NULL, err);
    ocelli_image_free(image);
    if (status == OCELLI_OK) {
        status = ask(model, visual, question, options, on_piece, user, result, err);
        ocelli_visual_free(visual);
    }
    return status;
}
