/* test_locale.c - a program that has chosen a locale with a decimal comma: numbers that are read,
 * and those that go into prompts and packages, are the same. The locale is made for the test; where
 * the system has no sources of locales, it is skipped. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE
#include "fusion/prompt.h"
#include "runtime/base/json.h"
#include "tests/unit/weights/scratch.h"
#include "text/python_json.h"

#include <locale.h>
#include <ocelli.h>

#define MODEL OCELLI_TEST_DATA "/golden/qwen3vl/models/t1_f32"
#define NAME "de_DE.UTF-8"

static scratch places;

/* False where there is none to be had. */
static bool comma_begin(void)
{
    char command[700];
    places = scratch_open();
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/" NAME " >%s/log 2>&1",
             places.path, places.path);
    int made = system(command);
    setenv("LOCPATH", places.path, 1);
    return made != -1 && setlocale(LC_ALL, NAME) != NULL &&
           strcmp(localeconv()->decimal_point, ",") == 0;
}

static void comma_end(void)
{
    char command[700];
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf %s", places.path);
    cr_assert_eq(system(command), 0);
}

static int keep_piece(void *user, const char *text, size_t length)
{
    char *answer = user;
    strncat(answer, text, length);
    return 0;
}

/* What the model says of a clip, whose prompt has times, of 6 tokens. */
static void answer_of(const char *directory, char answer[4096])
{
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_model *model;
    ocelli_session *session;
    ocelli_visual *clip;
    ocelli_image *frames[4];
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    ocelli_model_options open = OCELLI_MODEL_OPTIONS_INIT;
    static uint8_t pixels[4][64 * 64 * 3];
    open.threads = 1;
    options.max_tokens = 6;
    answer[0] = '\0';
    cr_assert_eq(ocelli_model_open(&model, directory, &open, &err), OCELLI_OK, "%s", err.message);
    for (int i = 0; i < 4; i++) {
        for (size_t k = 0; k < sizeof pixels[i]; k++) {
            pixels[i][k] = (uint8_t)(k * 7 + (size_t)i * 40);
        }
        cr_assert_eq(ocelli_image_from_rgb(&frames[i], pixels[i], 64, 64, 192, &err), OCELLI_OK);
    }
    static const double seconds[4] = {0, 0.6, 1.2, 1.8};
    cr_assert_eq(ocelli_encode_video(&clip, model, (const ocelli_image *const *)frames, seconds, 4,
                                     NULL, &err),
                 OCELLI_OK, "%s", err.message);
    const ocelli_part parts[2] = {{.visual = clip}, {.text = "a b"}};
    cr_assert_eq(ocelli_session_open(&session, model, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_session_add(session, OCELLI_USER, parts, 2, &err), OCELLI_OK, "%s",
                 err.message);
    cr_assert_eq(ocelli_session_generate(session, &options, keep_piece, answer, NULL, &err),
                 OCELLI_OK, "%s", err.message);
    for (int i = 0; i < 4; i++) {
        ocelli_image_free(frames[i]);
    }
    ocelli_visual_free(clip);
    ocelli_session_close(session);
    ocelli_model_close(model);
}

Test(locale, numbers_keep_their_points)
{
    if (!comma_begin()) {
        comma_end();
        cr_skip_test("no locale with a decimal comma can be made here");
    }
    static const char text[] = "{\"a\": 0.125, \"b\": 1e-06, \"c\": [12.0, 3]}";
    oc_json json;
    double value;
    char stamp[64];
    oc_buffer out = {0};
    cr_assert_eq(oc_json_parse(&json, "x.json", text, strlen(text), NULL), OCELLI_OK);
    cr_assert_eq(oc_json_double(oc_json_top(&json), "a", 0, 1, &value, NULL), OCELLI_OK);
    cr_assert_eq(value, 0.125);
    cr_assert_eq(oc_json_double(oc_json_top(&json), "b", 0, 1, &value, NULL), OCELLI_OK);
    cr_assert_eq(value, 1e-06);
    oc_json_close(&json);
    cr_assert_eq(oc_python_json_append(&out, "x", "[0.50, 1E2, -2.5e-7]", 20, NULL), OCELLI_OK);
    cr_assert_str_eq(out.data, "[0.5, 100.0, -2.5e-07]");
    oc_buffer_close(&out);
    oc_prompt_timestamp(stamp, 1234.5);
    cr_assert_str_eq(stamp, "<1234.5 seconds>");
    comma_end();
}

Test(locale, answers_and_packages_are_the_same)
{
    char plain[4096], comma[4096], packed[4096], path[SCRATCH_PATH];
    ocelli_error err = {OCELLI_OK, ""};
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    answer_of(MODEL, plain);
    cr_assert_neq(plain[0], '\0');
    if (!comma_begin()) {
        comma_end();
        cr_skip_test("no locale with a decimal comma can be made here");
    }
    answer_of(MODEL, comma);
    cr_assert_str_eq(comma, plain);
    scratch_path(&places, "package", path);
    options.quant = OCELLI_QUANT_F32;
    cr_assert_eq(ocelli_pack(MODEL, path, &options, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(ocelli_verify(path, NULL, NULL, &err), OCELLI_OK, "%s", err.message);
    answer_of(path, packed);
    setlocale(LC_ALL, "C");
    cr_assert_eq(ocelli_verify(path, NULL, NULL, &err), OCELLI_OK, "%s", err.message);
    answer_of(path, comma);
    cr_assert_str_eq(packed, comma);
    comma_end();
}
