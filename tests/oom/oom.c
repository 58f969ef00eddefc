/* oom.c - does a piece of work again and again, each time with another allocation failing: once
 * alone, once with all that follow. Each run must end well, or with an error that has its sentence;
 * must give back every block; and what it answers, if it ends well, must be what it answers
 * undisturbed. */
#define _POSIX_C_SOURCE 200809L
#include "tests/oom/failing_malloc.h"

#include <ocelli.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char CHECKPOINT[] = OCELLI_TEST_DATA "/golden/qwen3vl/models/t1_bf16";
static const char *const PICTURES[] = {OCELLI_SAMPLES "/pictures/picture01.png",
                                       OCELLI_SAMPLES "/pictures/picture03.jpg"};
enum { MOST_RUNS = 400 }; /* of each kind; more allocations than that are taken in steps */

static char package[256];     /* made before anything fails */
static char package_out[256]; /* where the packing that fails packs */

typedef struct outcome {
    ocelli_status status;
    ocelli_error err;
    char answer[256];
} outcome;

static ocelli_status open_model(ocelli_model **out, outcome *o)
{
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.threads = 1; /* more would leave blocks with the C library's threads */
    return ocelli_model_open(out, CHECKPOINT, &options, &o->err);
}

static const char GGUF_TEXT[] = OCELLI_TEST_DATA "/golden/gguf/models/t5-q6_K.gguf";
static const char GGUF_VISION[] = OCELLI_TEST_DATA "/golden/gguf/models/mmproj-t5-f16.gguf";

static void open_gguf(outcome *o)
{
    ocelli_model *model;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.threads = 1;
    options.mmproj = GGUF_VISION;
    o->status = ocelli_model_open(&model, GGUF_TEXT, &options, &o->err);
    ocelli_model_close(model);
}

/* A clip in a family with windows, whose clips are one block with times. */
static void watch(outcome *o)
{
    static const char *const frames[] = {
        OCELLI_TEST_DATA "/golden/siblings/media/clip2/frame_0000.png",
        OCELLI_TEST_DATA "/golden/siblings/media/clip2/frame_0001.png"};
    const double seconds[2] = {0, 0.5};
    ocelli_image *images[2] = {NULL, NULL};
    ocelli_model *model;
    ocelli_visual *clip = NULL;
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    options.threads = 1;
    o->status = ocelli_model_open(&model, OCELLI_TEST_DATA "/golden/siblings/models/q25a_bf16",
                                  &options, &o->err);
    for (size_t i = 0; i < 2 && o->status == OCELLI_OK; i++) {
        o->status = ocelli_image_load(&images[i], frames[i], NULL, &o->err);
    }
    if (o->status == OCELLI_OK) {
        o->status = ocelli_encode_video(&clip, model, (const ocelli_image *const *)images, seconds,
                                        2, NULL, &o->err);
    }
    ocelli_visual_free(clip);
    ocelli_image_free(images[0]);
    ocelli_image_free(images[1]);
    ocelli_model_close(model);
}

static void open_and_close(outcome *o)
{
    ocelli_model *model;
    o->status = open_model(&model, o);
    ocelli_model_close(model);
}

static ocelli_status encode(ocelli_visual **out, ocelli_model *model, const char *path, outcome *o)
{
    ocelli_image *image;
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    options.max_pixels = 64 * 64;
    options.min_pixels = 32 * 32;
    *out = NULL;
    ocelli_status status = ocelli_image_load(&image, path, NULL, &o->err);
    if (status == OCELLI_OK) {
        status = ocelli_encode_image(out, model, image, &options, &o->err);
    }
    ocelli_image_free(image);
    return status;
}

static void look(outcome *o)
{
    ocelli_model *model;
    o->status = open_model(&model, o);
    for (size_t i = 0; i < sizeof PICTURES / sizeof *PICTURES && o->status == OCELLI_OK; i++) {
        ocelli_visual *visual;
        o->status = encode(&visual, model, PICTURES[i], o);
        ocelli_visual_free(visual);
    }
    ocelli_model_close(model);
}

static char cache_folder[256]; /* and a number: each run begins with an empty one */

/* Into a cache, from its memory, and from its disk: without memory for them there are no entries. */
static void look_cached(outcome *o)
{
    ocelli_model *model;
    ocelli_visual_cache *cache = NULL;
    ocelli_visual *visuals[3] = {NULL, NULL, NULL};
    ocelli_image *images[3] = {NULL, NULL, NULL};
    ocelli_visual_options options = OCELLI_VISUAL_OPTIONS_INIT;
    ocelli_visual_cache_options wanted = OCELLI_VISUAL_CACHE_OPTIONS_INIT;
    char folder[300];
    static unsigned runs;
    snprintf(folder, sizeof folder, "%s%u", cache_folder, runs++);
    options.max_pixels = 64 * 64;
    wanted.directory = folder;
    o->status = open_model(&model, o);
    for (size_t i = 0; i < 3 && o->status == OCELLI_OK; i++) {
        o->status = ocelli_image_load(&images[i], PICTURES[i % 2], NULL, &o->err);
    }
    for (int pass = 0; pass < 2 && o->status == OCELLI_OK; pass++) {
        o->status = ocelli_visual_cache_open(&cache, &wanted, &o->err);
        options.cache = cache;
        if (o->status == OCELLI_OK) {
            o->status = ocelli_encode_images(visuals, model, (const ocelli_image *const *)images, 3,
                                             &options, &o->err);
        }
        for (size_t i = 0; i < 3; i++) {
            ocelli_visual_free(visuals[i]);
            visuals[i] = NULL;
        }
        ocelli_visual_cache_close(cache);
        cache = NULL;
    }
    for (size_t i = 0; i < 3; i++) {
        ocelli_image_free(images[i]);
    }
    ocelli_model_close(model);
}

static ocelli_status open_session(ocelli_session **out, ocelli_model *model, ocelli_visual *visual,
                                  outcome *o)
{
    const ocelli_part parts[2] = {{.visual = visual}, {.text = "What is it?"}};
    ocelli_status status = ocelli_session_open(out, model, NULL, &o->err);
    if (status == OCELLI_OK) {
        status = ocelli_session_add(*out, OCELLI_USER, parts, 2, &o->err);
    }
    return status;
}

static void take_answer(outcome *o, const ocelli_session *session)
{
    size_t length = strlen(o->answer);
    snprintf(o->answer + length, sizeof o->answer - length, "%s|", ocelli_session_answer(session));
}

static void answer(outcome *o)
{
    ocelli_model *model;
    ocelli_visual *visual = NULL;
    ocelli_session *session = NULL;
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = 4;
    options.temperature = 1.0f;
    options.top_k = 5;
    options.top_p = 0.9f;
    options.repetition_penalty = 1.1f;
    o->status = open_model(&model, o);
    if (o->status == OCELLI_OK) {
        o->status = encode(&visual, model, PICTURES[0], o);
    }
    if (o->status == OCELLI_OK) {
        o->status = open_session(&session, model, visual, o);
    }
    if (o->status == OCELLI_OK) {
        o->status = ocelli_session_generate(session, &options, NULL, NULL, NULL, &o->err);
    }
    if (o->status == OCELLI_OK) {
        take_answer(o, session);
    }
    ocelli_model_close(model);
    ocelli_visual_free(visual);
    ocelli_session_close(session);
}

static void answer_together(outcome *o)
{
    ocelli_model *model;
    ocelli_visual *visual = NULL;
    ocelli_session *sessions[2] = {NULL, NULL};
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = 3;
    o->status = open_model(&model, o);
    if (o->status == OCELLI_OK) {
        o->status = encode(&visual, model, PICTURES[0], o);
    }
    for (size_t i = 0; i < 2 && o->status == OCELLI_OK; i++) {
        o->status = open_session(&sessions[i], model, visual, o);
    }
    if (o->status == OCELLI_OK) {
        o->status = ocelli_generate_together(sessions, 2, &options, NULL, NULL, NULL, &o->err);
    }
    for (size_t i = 0; i < 2; i++) {
        if (o->status == OCELLI_OK) {
            take_answer(o, sessions[i]);
        }
        ocelli_session_close(sessions[i]);
    }
    ocelli_visual_free(visual);
    ocelli_model_close(model);
}

static void pack(outcome *o)
{
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    options.threads = 1;
    options.overwrite = 1;
    o->status = ocelli_pack(CHECKPOINT, package_out, &options, &o->err);
}

static void pack_gguf(outcome *o)
{
    ocelli_pack_options options = OCELLI_PACK_OPTIONS_INIT;
    options.threads = 1;
    options.overwrite = 1;
    options.mmproj = GGUF_VISION;
    o->status = ocelli_pack(GGUF_TEXT, package_out, &options, &o->err);
}

static void verify(outcome *o)
{
    o->status = ocelli_verify(package, NULL, NULL, &o->err);
}

static const struct {
    const char *name;
    void (*run)(outcome *o);
} WORK[] = {{"open", open_and_close},      {"look", look},           {"answer", answer},
            {"together", answer_together}, {"pack", pack},           {"verify", verify},
            {"gguf", open_gguf},           {"pack_gguf", pack_gguf}, {"watch", watch},
            {"cached", look_cached}};

/* What is at the place of the package must be whole, whatever the packing said. */
static bool packed_is_whole(void)
{
    struct stat status;
    ocelli_error err;
    if (stat(package_out, &status) != 0) {
        return true;
    }
    if (ocelli_verify(package_out, NULL, NULL, &err) != OCELLI_OK) {
        fprintf(stderr, "half a package: %s\n", err.message);
        return false;
    }
    return true;
}

static bool one_line(const char *message)
{
    return message[0] != '\0' && strchr(message, '\n') == NULL;
}

static bool check_run(void (*run)(outcome *o), long nth, bool sticky, const outcome *wanted)
{
    outcome got = {.status = OCELLI_OK};
    long blocks = failing_malloc_blocks();
    failing_malloc_arm(nth, sticky);
    run(&got);
    failing_malloc_disarm();
    long left = failing_malloc_blocks() - blocks;
    const char *wrong = NULL;
    if (left != 0) {
        wrong = "blocks are left";
    } else if (got.status == OCELLI_OK && strcmp(got.answer, wanted->answer) != 0) {
        wrong = "the answer is another";
    } else if (got.status != OCELLI_OK && !one_line(got.err.message)) {
        wrong = "an error without its sentence";
    } else if (got.status == OCELLI_E_INTERNAL || got.status == OCELLI_E_ARGUMENT) {
        wrong = "memory is not what it blames";
    } else if (got.status == OCELLI_OK && sticky && nth == 1) {
        wrong = "nothing failed";
    } else if ((run == pack || run == pack_gguf) && !packed_is_whole()) {
        wrong = "half a package";
    }
    if (wrong != NULL) {
        fprintf(stderr, "allocation %ld%s fails: %s (%ld blocks; \"%s\"; %s)\n", nth,
                sticky ? " and all after it" : "", wrong, left, got.answer,
                got.status != OCELLI_OK ? got.err.message : "no error");
    }
    return wrong == NULL;
}

static bool check_all(void (*run)(outcome *o))
{
    outcome first = {.status = OCELLI_OK}, wanted = {.status = OCELLI_OK};
    run(&first); /* what the C library allocates once */
    failing_malloc_arm(0, false);
    run(&wanted);
    long total = failing_malloc_disarm();
    if (wanted.status != OCELLI_OK || total < 10) {
        fprintf(stderr, "undisturbed: %ld allocations, %s\n", total, wanted.err.message);
        return false;
    }
    long step = total / MOST_RUNS + 1;
    long faults = 0;
    for (int sticky = 0; sticky < 2; sticky++) {
        for (long nth = 1; nth <= total && faults < 10; nth += step) {
            faults += !check_run(run, nth, sticky != 0, &wanted);
        }
    }
    printf("%ld allocations, every %ld failed: %ld faults\n", total, step, faults);
    return faults == 0;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/ocelli-oom-XXXXXX", command[300];
    ocelli_error err;
    ocelli_image *probe;
    const unsigned char pixel[3] = {0};
    bool ours = ocelli_image_from_rgb(&probe, pixel, 1, 1, 3, &err) == OCELLI_OK &&
                failing_malloc_blocks() > 0;
    ocelli_image_free(probe);
    if (!ours) {
        puts("this C library's malloc cannot be replaced");
        return 77;
    }
    if (argc != 2 || mkdtemp(folder) == NULL) {
        return 2;
    }
    snprintf(package, sizeof package, "%s/package", folder);
    snprintf(package_out, sizeof package_out, "%s/out", folder);
    snprintf(cache_folder, sizeof cache_folder, "%s/cache", folder);
    bool sound = ocelli_pack(CHECKPOINT, package, NULL, &err) == OCELLI_OK;
    bool known = false;
    for (size_t i = 0; i < sizeof WORK / sizeof *WORK && sound; i++) {
        if (strcmp(argv[1], WORK[i].name) == 0) {
            known = true;
            sound = check_all(WORK[i].run);
        }
    }
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 && sound && known ? 0 : 1;
}
