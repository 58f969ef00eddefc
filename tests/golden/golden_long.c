/* golden_long.c - long prompts of many pictures: 50 pictures and text up to a number of tokens, and
 * a clip of 768 frames, are answered alike however the work is cut: in large steps on two threads,
 * in small uneven ones on one, and on top of what the cache holds of an earlier prompt that begins
 * alike. Positions and cache slots at the far end must be right for that to hold: a slot that is
 * off by one, or a row that is read before it is written, changes bits.
 *
 *     golden_long MODEL TOKENS PICTURE...
 *
 * Only the public interface. Weights are q8, whose rows have the same bits in any cut. */
#include <ocelli.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 50, FRAMES = 768, FRAME_SIDE = 64, STEPS = 4, SMALL_CHUNK = 61 };

static int report(const ocelli_error *error)
{
    printf("FAIL  %s\n", error->message);
    return 1;
}

/* ---- what was answered ----------------------------------------------------------------------- */

typedef struct outcome {
    float *logits; /* [STEPS][vocab] */
    size_t vocab, steps;
} outcome;

static int32_t keep_logits(void *user, const float *logits, size_t vocab)
{
    outcome *o = user;
    if (o->logits == NULL) {
        o->logits = calloc(STEPS * vocab, sizeof *o->logits);
        o->vocab = vocab;
    }
    if (o->logits != NULL && o->steps < STEPS) {
        memcpy(o->logits + o->steps++ * vocab, logits, vocab * sizeof *logits);
    }
    return -1;
}

static ocelli_status answer(ocelli_session *session, outcome *out, ocelli_result *result,
                            ocelli_error *err)
{
    ocelli_generate_options options = OCELLI_GENERATE_OPTIONS_INIT;
    options.max_tokens = STEPS;
    options.ignore_stop = 1;
    options.stop_repetition = 0;
    options.choose = keep_logits;
    options.choose_user = out;
    *result = (ocelli_result){.struct_size = sizeof *result};
    return ocelli_session_generate(session, &options, NULL, NULL, result, err);
}

static int compare(const outcome *first, const outcome *other, const char *what, uint64_t tokens)
{
    int same = first->steps == STEPS && other->steps == STEPS && first->vocab == other->vocab &&
               memcmp(first->logits, other->logits, STEPS * first->vocab * sizeof(float)) == 0;
    printf("%s  %-44s %llu tokens\n", same ? "PASS" : "FAIL", what, (unsigned long long)tokens);
    return !same;
}

/* ---- what is asked --------------------------------------------------------------------------- */

/* One model and what it saw. */
typedef struct eyes {
    ocelli_model *model;
    ocelli_visual *pictures[PICTURES], *clip;
} eyes;

static ocelli_status see_pictures(eyes *e, char *const *paths, size_t count, ocelli_error *err)
{
    for (size_t i = 0; i < PICTURES; i++) {
        ocelli_image *image;
        ocelli_status status = ocelli_image_load(&image, paths[i % count], NULL, err);
        if (status == OCELLI_OK) {
            status = ocelli_encode_image(&e->pictures[i], e->model, image, NULL, err);
            ocelli_image_free(image);
        }
        if (status != OCELLI_OK) {
            return status;
        }
    }
    return OCELLI_OK;
}

/* Frames of one colour each, no two alike. */
static ocelli_status see_clip(eyes *e, ocelli_error *err)
{
    static uint8_t rgb[FRAME_SIDE * FRAME_SIDE * 3];
    static ocelli_image *frames[FRAMES];
    static double seconds[FRAMES];
    ocelli_status status = OCELLI_OK;
    size_t made = 0;
    while (made < FRAMES && status == OCELLI_OK) {
        for (size_t i = 0; i < sizeof rgb; i += 3) {
            rgb[i] = (uint8_t)(made % 256);
            rgb[i + 1] = (uint8_t)(made / 3);
            rgb[i + 2] = (uint8_t)(i / 3 % FRAME_SIDE * 4);
        }
        seconds[made] = (double)made / 2.0;
        status =
            ocelli_image_from_rgb(&frames[made], rgb, FRAME_SIDE, FRAME_SIDE, 3 * FRAME_SIDE, err);
        made += status == OCELLI_OK;
    }
    if (status == OCELLI_OK) {
        status = ocelli_encode_video(&e->clip, e->model, (const ocelli_image *const *)frames,
                                     seconds, FRAMES, NULL, err);
    }
    while (made > 0) {
        ocelli_image_free(frames[--made]);
    }
    return status;
}

static void eyes_close(eyes *e)
{
    for (size_t i = 0; i < PICTURES; i++) {
        ocelli_visual_free(e->pictures[i]);
    }
    ocelli_visual_free(e->clip);
    ocelli_model_close(e->model);
}

static ocelli_status add_pictures(ocelli_session *session, const eyes *e, const char *text,
                                  ocelli_error *err)
{
    ocelli_part parts[PICTURES + 1] = {{NULL, NULL}};
    for (size_t i = 0; i < PICTURES; i++) {
        parts[i].visual = e->pictures[i];
    }
    parts[PICTURES].text = text;
    return ocelli_session_add(session, OCELLI_USER, parts, PICTURES + 1, err);
}

static ocelli_status count_prompt(ocelli_session *session, uint64_t *tokens, ocelli_error *err)
{
    ocelli_session_plan plan = {.struct_size = sizeof plan,
                                .memory.struct_size = sizeof plan.memory};
    ocelli_status status = ocelli_session_describe(session, STEPS, &plan, err);
    *tokens = plan.prompt_tokens;
    return status;
}

/* Words enough for a prompt of about so many tokens, at most; from malloc. */
static char *write_text(ocelli_session *session, const eyes *e, uint64_t tokens, ocelli_error *err)
{
    static const char words[] = " red blue one two dog cat on under";
    enum { TRIAL = 64 };
    char *text = malloc((size_t)tokens * sizeof words + 1);
    uint64_t bare = 0, trial = 0;
    if (text == NULL) {
        return NULL;
    }
    text[0] = 0;
    ocelli_status status = add_pictures(session, e, "", err);
    status = status == OCELLI_OK ? count_prompt(session, &bare, err) : status;
    ocelli_session_reset(session);
    for (size_t i = 0; i < TRIAL; i++) {
        memcpy(text + i * (sizeof words - 1), words, sizeof words);
    }
    status = status == OCELLI_OK ? add_pictures(session, e, text, err) : status;
    status = status == OCELLI_OK ? count_prompt(session, &trial, err) : status;
    ocelli_session_reset(session);
    if (status != OCELLI_OK || trial <= bare || tokens <= bare) {
        free(text);
        return NULL;
    }
    size_t times = (size_t)((tokens - bare) * TRIAL / (trial - bare));
    for (size_t i = 0; i < times; i++) {
        memcpy(text + i * (sizeof words - 1), words, sizeof words);
    }
    return text;
}

/* ---- the ways -------------------------------------------------------------------------------- */

static ocelli_status open_session(ocelli_session **out, const eyes *e, size_t chunk,
                                  ocelli_error *err)
{
    ocelli_session_options options = OCELLI_SESSION_OPTIONS_INIT;
    options.prefill_chunk = chunk;
    return ocelli_session_open(out, e->model, &options, err);
}

/* Pictures and text: at once; in small steps on another number of threads; and after another prompt
 * that begins alike. */
static int check_pictures(eyes models[2], uint64_t tokens)
{
    ocelli_error error;
    ocelli_session *sessions[2] = {NULL, NULL};
    ocelli_result result;
    outcome first = {0}, small = {0}, again = {0}, other = {0};
    int failed = 0;
    if (open_session(&sessions[0], &models[0], 0, &error) != OCELLI_OK ||
        open_session(&sessions[1], &models[1], SMALL_CHUNK, &error) != OCELLI_OK) {
        return report(&error);
    }
    char *text = write_text(sessions[0], &models[0], tokens - STEPS - 8, &error);
    if (text == NULL) {
        printf("FAIL  no prompt of %llu tokens could be written\n", (unsigned long long)tokens);
        return 1;
    }
    if (add_pictures(sessions[0], &models[0], text, &error) != OCELLI_OK ||
        answer(sessions[0], &first, &result, &error) != OCELLI_OK) {
        return report(&error);
    }
    if (add_pictures(sessions[1], &models[1], text, &error) != OCELLI_OK ||
        answer(sessions[1], &small, &result, &error) != OCELLI_OK) {
        return report(&error);
    }
    failed +=
        compare(&first, &small, "50 pictures: at once, in steps of 61 rows", result.prompt_tokens);
    /* The same session goes on with a prompt that parts from the first at its end. */
    size_t end = strlen(text);
    memcpy(text + end - 3, "cat", 3);
    ocelli_session_reset(sessions[0]);
    if (add_pictures(sessions[0], &models[0], text, &error) != OCELLI_OK ||
        answer(sessions[0], &again, &result, &error) != OCELLI_OK) {
        return report(&error);
    }
    uint64_t reused = result.reused_tokens;
    ocelli_session_close(sessions[1]);
    if (open_session(&sessions[1], &models[1], SMALL_CHUNK, &error) != OCELLI_OK ||
        add_pictures(sessions[1], &models[1], text, &error) != OCELLI_OK ||
        answer(sessions[1], &other, &result, &error) != OCELLI_OK) {
        return report(&error);
    }
    failed += compare(&other, &again, "50 pictures: on top of a cache, anew", reused);
    if (reused + 64 < result.prompt_tokens || result.reused_tokens != 0) {
        printf("FAIL  %llu tokens came from the cache\n", (unsigned long long)reused);
        failed++;
    }
    if (result.prompt_tokens + 512 < tokens || result.prompt_tokens > tokens) {
        printf("FAIL  the prompt has %llu tokens\n", (unsigned long long)result.prompt_tokens);
        failed++;
    }
    free(text);
    free(first.logits);
    free(small.logits);
    free(again.logits);
    free(other.logits);
    ocelli_session_close(sessions[0]);
    ocelli_session_close(sessions[1]);
    return failed;
}

static int check_clip(eyes models[2])
{
    ocelli_error error;
    ocelli_result result;
    outcome outcomes[2] = {{0}, {0}};
    ocelli_visual_info info = {.struct_size = sizeof info};
    int failed = 0;
    for (int i = 0; i < 2; i++) {
        ocelli_session *session;
        const ocelli_part parts[] = {{.visual = models[i].clip}, {.text = "What happens?"}};
        if (open_session(&session, &models[i], i == 0 ? 0 : SMALL_CHUNK, &error) != OCELLI_OK ||
            ocelli_session_add(session, OCELLI_USER, parts, 2, &error) != OCELLI_OK ||
            answer(session, &outcomes[i], &result, &error) != OCELLI_OK) {
            return report(&error);
        }
        ocelli_session_close(session);
    }
    ocelli_visual_describe(models[0].clip, &info);
    if (info.grid_t != FRAMES / 2 || info.tokens != FRAMES / 2 * info.grid_h * info.grid_w / 4 ||
        info.timestamps[FRAMES / 2 - 1] != (FRAMES - 1.5) / 2.0) {
        printf("FAIL  768 frames are %llu pairs, %llu tokens\n", (unsigned long long)info.grid_t,
               (unsigned long long)info.tokens);
        failed++;
    }
    failed += compare(&outcomes[0], &outcomes[1], "768 frames: at once, in steps of 61 rows",
                      result.prompt_tokens);
    free(outcomes[0].logits);
    free(outcomes[1].logits);
    return failed;
}

int main(int argc, char **argv)
{
    ocelli_error error;
    eyes models[2];
    memset(models, 0, sizeof models);
    if (argc < 4) {
        fprintf(stderr, "usage: golden_long MODEL TOKENS PICTURE...\n");
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
        options.quant = OCELLI_QUANT_Q8;
        options.vision = OCELLI_VISION_Q8; /* the same bits on any number of threads */
        options.threads = 2 - i;
        if (ocelli_model_open(&models[i].model, argv[1], &options, &error) != OCELLI_OK ||
            see_pictures(&models[i], argv + 3, (size_t)argc - 3, &error) != OCELLI_OK ||
            see_clip(&models[i], &error) != OCELLI_OK) {
            return report(&error);
        }
    }
    int failed = check_pictures(models, strtoull(argv[2], NULL, 10)) + check_clip(models);
    eyes_close(&models[0]);
    eyes_close(&models[1]);
    return failed != 0;
}
