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

/* Answers with max_tokens at most, and does not stop a model that repeats itself. */
static inline ocelli_result run(ocelli_session *session, size_t max_tokens)
{
    ocelli_error err;
    ocelli_result result = {.struct_size = sizeof result};
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = max_tokens;
    options.stop_repetition = 0;
    cr_assert_eq(ocelli_session_generate(session, &options, NULL, NULL, &result, &err), OCELLI_OK,
                 "%s", err.message);
    return result;
}

/* context: tokens, 0: the model's own. */
static inline ocelli_session *open_session(ocelli_model *model, uint64_t context)
{
    ocelli_error err;
    ocelli_session *session;
    ocelli_session_options options = OCELLI_SESSION_OPTIONS_INIT;
    options.context_tokens = context;
    cr_assert_eq(ocelli_session_open(&session, model, &options, &err), OCELLI_OK, "%s",
                 err.message);
    return session;
}

#endif
