/* bench_prompt.c - see bench_prompt.h.
 *
 * The tokenizer is the model's own affair, so lengths are found by asking: as many words as fit,
 * then single letters and dots for the rest.
 */
#include "tools/bench_prompt.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const WORDS[] = {
    "river",  "window", "small",  "green", "walk",  "under",  "stone", "light",
    "paper",  "seven",  "before", "cloud", "wheel", "quiet",  "north", "bread",
    "garden", "sound",  "three",  "slow",  "horse", "glass",  "round", "winter",
    "hand",   "bridge", "yellow", "again", "field", "letter", "deep",  "morning"};
enum { WORD_COUNT = sizeof WORDS / sizeof *WORDS, LONGEST_WORD = 8, MOST_FILLER = 64 };

/* Words in an order that does not repeat soon: which experts a row chooses depends on them. */
static size_t write_words(char *out, size_t count, unsigned salt)
{
    size_t used = 0;
    uint32_t state = salt * 2654435761u + 12345u;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        used += (size_t)snprintf(out + used, LONGEST_WORD + 2, "%s ",
                                 WORDS[(state >> 20) % WORD_COUNT]);
    }
    out[used] = '\0';
    return used;
}

static ocelli_status count_tokens(ocelli_session *session, const char *text, uint64_t *tokens,
                                  ocelli_error *err)
{
    const ocelli_part part = {.text = text};
    ocelli_session_plan plan = {.struct_size = sizeof plan,
                                .memory = {.struct_size = sizeof plan.memory}};
    ocelli_status status = ocelli_session_add(session, OCELLI_USER, &part, 1, err);
    if (status != OCELLI_OK) {
        return status;
    }
    status = ocelli_session_describe(session, 1, &plan, err);
    ocelli_session_drop_last(session);
    *tokens = plan.prompt_tokens;
    return status;
}

/* Most words whose prompt has no more than so many tokens. */
static ocelli_status fit_words(ocelli_session *session, char *text, uint64_t tokens, unsigned salt,
                               size_t *length, ocelli_error *err)
{
    size_t low = 0, high = (size_t)tokens; /* low fits (or nothing does), high + 1 does not */
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        uint64_t has;
        write_words(text, middle, salt);
        ocelli_status status = count_tokens(session, text, &has, err);
        if (status != OCELLI_OK) {
            return status;
        }
        if (has <= tokens) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    *length = write_words(text, low, salt);
    return OCELLI_OK;
}

/* Appends letters, then dots, as long as that makes it no longer than wanted. */
static ocelli_status fill_up(ocelli_session *session, char *text, size_t length, uint64_t tokens,
                             ocelli_error *err)
{
    static const char *const fillers[] = {"a ", "."};
    for (size_t f = 0; f < sizeof fillers / sizeof *fillers; f++) {
        for (int i = 0; i < MOST_FILLER / 4; i++) {
            uint64_t has;
            size_t size = strlen(fillers[f]);
            memcpy(text + length, fillers[f], size + 1);
            ocelli_status status = count_tokens(session, text, &has, err);
            if (status != OCELLI_OK) {
                return status;
            }
            if (has > tokens) {
                text[length] = '\0';
                break;
            }
            length += size;
        }
    }
    return OCELLI_OK;
}

char *bench_prompt_text(ocelli_model *model, uint64_t tokens, unsigned salt, ocelli_error *err)
{
    ocelli_session *session;
    size_t length = 0;
    if (ocelli_session_open(&session, model, NULL, err) != OCELLI_OK) {
        return NULL;
    }
    char *text = malloc((size_t)tokens * (LONGEST_WORD + 1) + MOST_FILLER + LONGEST_WORD + 2);
    ocelli_status status = OCELLI_OK;
    if (text == NULL) {
        status = OCELLI_E_MEMORY;
        if (err != NULL) {
            err->status = status;
            snprintf(err->message, sizeof err->message, "no memory for a prompt");
        }
    } else {
        status = fit_words(session, text, tokens, salt, &length, err);
    }
    if (status == OCELLI_OK) {
        status = fill_up(session, text, length, tokens, err);
    }
    ocelli_session_close(session);
    if (status != OCELLI_OK) {
        free(text);
        return NULL;
    }
    return text;
}

ocelli_status bench_picture(ocelli_image **out, int width, int height, unsigned salt,
                            ocelli_error *err)
{
    size_t stride = (size_t)width * 3;
    uint8_t *pixels = malloc(stride * (size_t)height);
    uint32_t state = 1 + salt;
    *out = NULL;
    if (pixels == NULL) {
        err->status = OCELLI_E_MEMORY;
        snprintf(err->message, sizeof err->message, "no memory for a picture of %d x %d", width,
                 height);
        return OCELLI_E_MEMORY;
    }
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            uint8_t *pixel = pixels + (size_t)y * stride + (size_t)x * 3;
            bool inside = (x / 64 + y / 48) % 2 == 0;
            state = state * 1664525u + 1013904223u;
            int noise = (int)(state >> 28);
            pixel[0] = (uint8_t)(noise + (inside ? 200 : x * 200 / width));
            pixel[1] = (uint8_t)(noise + y * 200 / height);
            pixel[2] = (uint8_t)(noise + (inside ? 40 : 160));
        }
    }
    ocelli_status status = ocelli_image_from_rgb(out, pixels, width, height, stride, err);
    free(pixels);
    return status;
}
