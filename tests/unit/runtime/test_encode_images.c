/* Several pictures at once: each gets the rows that it gets alone, whatever is beside it, and what
 * comes twice or was encoded before is not encoded. */
#include "runtime/visual.h"
#include "tests/unit/runtime/talk.h"
#include "vision/image.h"

#include <stdio.h>
#include <string.h>

static const char CHECKPOINT[] = OCELLI_TEST_DATA "/golden/qwen3vl/models/t1_bf16";
enum { COUNT = 7, DIFFERENT = 5, BLOCKS = 6 };

/* Pictures of two sizes among one another; the last two are the first and the third again. */
typedef struct album {
    ocelli_image *images[COUNT];
    const ocelli_image *shown[COUNT];
    ocelli_visual *visuals[COUNT];
} album;

static void open_album(album *a)
{
    static const char *const names[COUNT] = {"picture01.png", "pair1_1.png",   "picture02.png",
                                             "picture03.jpg", "picture05.png", "picture01.png",
                                             "picture02.png"};
    memset(a, 0, sizeof *a);
    for (size_t i = 0; i < COUNT; i++) {
        ocelli_error err;
        char path[512];
        snprintf(path, sizeof path, OCELLI_SAMPLES "/pictures/%s", names[i]);
        cr_assert_eq(ocelli_image_load(&a->images[i], path, NULL, &err), OCELLI_OK, "%s",
                     err.message);
        a->shown[i] = a->images[i];
    }
}

static void free_visuals(album *a)
{
    for (size_t i = 0; i < COUNT; i++) {
        ocelli_visual_free(a->visuals[i]);
        a->visuals[i] = NULL;
    }
}

static void close_album(album *a)
{
    free_visuals(a);
    for (size_t i = 0; i < COUNT; i++) {
        ocelli_image_free(a->images[i]);
    }
}

static ocelli_visual_info info_of(const ocelli_visual *visual)
{
    ocelli_visual_info info = {.struct_size = sizeof info};
    ocelli_visual_describe(visual, &info);
    return info;
}

static void expect_as_alone(const album *a, ocelli_model *model, const ocelli_visual_options *given)
{
    ocelli_visual_options options = *given;
    options.cache = NULL;
    options.progress = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        ocelli_error err;
        ocelli_visual *alone;
        const oc_medium *medium = &a->visuals[i]->medium;
        size_t bytes = a->visuals[i]->tokens * medium->width * sizeof(float);
        cr_assert_eq(ocelli_encode_image(&alone, model, a->images[i], &options, &err), OCELLI_OK);
        cr_assert_eq(alone->tokens, a->visuals[i]->tokens);
        cr_assert_arr_eq(alone->medium.rows, medium->rows, bytes, "picture %zu, tower %s", i,
                         ocelli_vision_name(model->vision));
        for (size_t tap = 0; tap < medium->tap_count; tap++) {
            cr_assert_arr_eq(alone->medium.taps + tap * alone->medium.tap_stride,
                             medium->taps + tap * medium->tap_stride, bytes, "picture %zu", i);
        }
        cr_assert(oc_hash_equal(alone->medium.identity, medium->identity));
        cr_assert_eq(info_of(alone).source_width, info_of(a->visuals[i]).source_width);
        ocelli_visual_free(alone);
    }
}

typedef struct told {
    uint64_t last, total, stop_at;
} told;

static int hear(void *user, const char *what, uint64_t done, uint64_t total)
{
    told *t = user;
    cr_assert_str_eq(what, "looking");
    cr_assert_gt(done, t->last);
    cr_assert_leq(done, total);
    t->last = done;
    t->total = total;
    return t->stop_at != 0 && done >= t->stop_at;
}

Test(encode_images, as_alone)
{
    static const struct {
        ocelli_quant quant;
        ocelli_vision vision;
    } forms[] = {{OCELLI_QUANT_Q8, OCELLI_VISION_BF16},
                 {OCELLI_QUANT_Q8, OCELLI_VISION_Q8},
                 {OCELLI_QUANT_F32, OCELLI_VISION_F32}};
    album a;
    open_album(&a);
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        ocelli_error err;
        ocelli_model *model;
        ocelli_model_options opening = OCELLI_MODEL_OPTIONS_INIT;
        ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
        told t = {0};
        opening.quant = forms[f].quant;
        opening.vision = forms[f].vision;
        opening.threads = 2;
        options.progress = hear;
        options.progress_user = &t;
        cr_assert_eq(ocelli_model_open(&model, CHECKPOINT, &opening, &err), OCELLI_OK);
        cr_assert_eq(ocelli_encode_images(a.visuals, model, a.shown, COUNT, &options, &err),
                     OCELLI_OK, "%s", err.message);
        expect_as_alone(&a, model, &options);
        cr_assert_eq(t.last, t.total); /* told to the end, whatever a step is */
        for (size_t i = 0; i < COUNT; i++) {
            ocelli_visual_info info = info_of(a.visuals[i]);
            cr_assert_eq(info.hit, i < DIFFERENT ? OCELLI_HIT_NONE : OCELLI_HIT_MEMORY);
            cr_assert_eq(info.encode_seconds > 0, i < DIFFERENT);
        }
        free_visuals(&a);
        ocelli_model_close(model);
    }
    close_album(&a);
}

/* Some were seen before. */
Test(encode_images, with_a_cache)
{
    ocelli_error err;
    album a;
    ocelli_model *model = open_model(CHECKPOINT, OCELLI_QUANT_Q8);
    ocelli_visual_cache *cache;
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    ocelli_visual_cache_info told_of = {.struct_size = sizeof told_of};
    open_album(&a);
    cr_assert_eq(ocelli_visual_cache_open(&cache, NULL, &err), OCELLI_OK);
    options.cache = cache;
    for (size_t i = 1; i < 3; i++) {
        cr_assert_eq(ocelli_encode_image(&a.visuals[i], model, a.images[i], &options, &err),
                     OCELLI_OK);
    }
    free_visuals(&a);
    for (int pass = 0; pass < 2; pass++) {
        cr_assert_eq(ocelli_encode_images(a.visuals, model, a.shown, COUNT, &options, &err),
                     OCELLI_OK, "%s", err.message);
        expect_as_alone(&a, model, &options);
        for (size_t i = 0; i < COUNT; i++) {
            bool is_new = pass == 0 && (i == 0 || i == 3 || i == 4);
            cr_assert_eq(info_of(a.visuals[i]).hit, is_new ? OCELLI_HIT_NONE : OCELLI_HIT_MEMORY,
                         "pass %d, picture %zu", pass, i);
        }
        free_visuals(&a);
    }
    ocelli_visual_cache_describe(cache, &told_of);
    cr_assert_eq(told_of.memory_entries, DIFFERENT);
    ocelli_visual_cache_close(cache);
    close_album(&a);
    ocelli_model_close(model);
}

static void expect_none(const album *a)
{
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert_null(a->visuals[i]);
    }
}

/* It fails as a whole, and leaves nothing. */
Test(encode_images, failures)
{
    ocelli_error err;
    album a;
    ocelli_model *model = open_model(CHECKPOINT, OCELLI_QUANT_Q8);
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    const unsigned char line[300 * 3] = {0};
    ocelli_image *narrow;
    open_album(&a);
    a.shown[4] = NULL;
    memset(a.visuals, 0xff, sizeof a.visuals);
    cr_assert_eq(ocelli_encode_images(a.visuals, model, a.shown, COUNT, NULL, &err),
                 OCELLI_E_ARGUMENT);
    expect_none(&a);
    cr_assert_eq(ocelli_image_from_rgb(&narrow, line, 300, 1, sizeof line, &err), OCELLI_OK);
    a.shown[4] = narrow; /* 300 times as wide as high */
    memset(a.visuals, 0xff, sizeof a.visuals);
    cr_assert_eq(ocelli_encode_images(a.visuals, model, a.shown, COUNT, NULL, &err),
                 OCELLI_E_LIMIT);
    expect_none(&a);
    ocelli_image_free(narrow);
    a.shown[4] = a.images[4];

    /* Stopped at any block. */
    options.progress = hear;
    for (uint64_t block = 1; block <= DIFFERENT * BLOCKS; block += 4) {
        told t = {.stop_at = block};
        options.progress_user = &t;
        cr_assert_eq(ocelli_encode_images(a.visuals, model, a.shown, COUNT, &options, &err),
                     OCELLI_E_CANCELLED);
        cr_assert_str_eq(err.message, "stopped while looking at a picture");
        cr_assert_lt(t.last, block + DIFFERENT); /* a step may be of several pictures */
        expect_none(&a);
    }
    options.progress = NULL;
    options.plan_only = 1;
    cr_assert_eq(ocelli_encode_images(a.visuals, model, a.shown, COUNT, &options, &err), OCELLI_OK);
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert(!info_of(a.visuals[i]).encoded);
        cr_assert_gt(info_of(a.visuals[i]).tokens, 0);
    }
    free_visuals(&a);
    cr_assert_eq(ocelli_encode_images(NULL, model, NULL, 0, NULL, &err), OCELLI_OK);
    cr_assert_eq(ocelli_encode_images(a.visuals, model, NULL, 1, NULL, &err), OCELLI_E_ARGUMENT);
    close_album(&a);
    ocelli_model_close(model);
}
