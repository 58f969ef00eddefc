/* talk.h - what tests of sessions share: a model opened, a picture seen, a question said. */
#ifndef OC_TEST_TALK_H
#define OC_TEST_TALK_H

#include <criterion/criterion.h>
#include <ocelli.h>

static inline ocelli_model *open_model(const char *name, ocelli_quant quant)
{
    ocelli_error err;
    ocelli_model *model;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.quant = quant;
    options.threads = 2;
    cr_assert_eq(ocelli_model_open(&model, name, &options, &err), OCELLI_OK, "%s", err.message);
    return model;
}

static inline ocelli_visual *see(ocelli_model *model, const char *path)
{
    ocelli_error err;
    ocelli_image *image;
    ocelli_visual *visual;
    cr_assert_eq(ocelli_image_load(&image, path, NULL, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(ocelli_encode_image(&visual, model, image, NULL, &err), OCELLI_OK, "%s",
                 err.message);
    ocelli_image_free(image);
    return visual;
}

/* visual: NULL for a message of text alone. */
static inline void say(ocelli_session *session, const ocelli_visual *visual, const char *text)
{
    ocelli_error err;
    ocelli_part parts[2] = {{.visual = visual}, {.text = text}};
    size_t skip = visual == NULL ? 1 : 0;
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, parts + skip, 2 - skip, &err), OCELLI_OK,
                 "%s", err.message);
}

#endif
