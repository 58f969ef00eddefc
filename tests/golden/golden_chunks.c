/* golden_chunks.c - the answer does not depend on how it was computed: prefill in chunks of 1, 7,
 * 33, 64 and all rows, on 1, 2 and 3 threads, gives the same bits of every logit with quantised
 * weights; with float32 weights, whose products OpenBLAS sums in its own order, the same tokens and
 * logits within 1e-4. Deepstack rows must follow their tokens into the right chunk for this to
 * hold.
 *
 *     golden_chunks MODEL PICTURE [PICTURE...]
 *
 * MODEL is opened as float32, q8 and q4. Own main: it prints what it compares. */
#include "fusion/fuse.h"
#include "runtime/base/memory.h"
#include "runtime/model.h"
#include "runtime/visual.h"
#include "text/chat.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS = 6, MOST_PICTURES = 8 };

static const double TOLERANCE_F32 = 1e-4;

/* What one way of computing gave. */
typedef struct outcome {
    float *logits;         /* [STEPS, vocab] */
    int32_t tokens[STEPS]; /* likeliest of each row */
} outcome;

/* ---- a prompt: every picture, then a question ------------------------------------------------ */

static ocelli_status fuse_prompt(oc_fused *out, const ocelli_model *model, const oc_medium *media,
                                 size_t count, ocelli_error *err)
{
    static const char question[] = "What is in the picture, and where is it? Say it in one line.";
    oc_chat_part parts[MOST_PICTURES + 1];
    for (size_t i = 0; i < count; i++) {
        parts[i] = (oc_chat_part){.kind = OC_PART_IMAGE, .media = i};
    }
    parts[count] =
        (oc_chat_part){.kind = OC_PART_TEXT, .text = question, .length = sizeof question - 1};
    const oc_chat_message message = {.role = OCELLI_USER, .parts = parts, .count = count + 1};
    const oc_chat_options options = {.style = model->config.family->chat,
                                     .add_generation_prompt = true};
    oc_chat_items items = {0};
    OC_TRY(oc_chat_render(&items, &message, 1, &options, err));
    ocelli_status status = oc_fuse(out, model->bpe, &items, &model->config.pads, media, count, err);
    oc_chat_items_close(&items);
    return status;
}

/* ---- one way of computing -------------------------------------------------------------------- */

typedef struct way {
    const ocelli_model *model;
    const oc_fused *fused;
    oc_kv_cache cache;
    oc_arena arena;
    float *inputs; /* [chunk, hidden] */
    oc_row *rows;  /* [chunk] */
    size_t chunk;
} way;

static ocelli_status prefill(way *w, float *logits, ocelli_error *err)
{
    size_t n = w->fused->count, hidden = w->model->config.decoder.hidden;
    for (size_t begin = 0; begin < n; begin += w->chunk) {
        size_t end = n - begin < w->chunk ? n : begin + w->chunk;
        OC_TRY(oc_fused_rows(w->inputs, w->fused, w->model->table, begin, end, err));
        for (size_t i = begin; i < end; i++) {
            oc_row *row = &w->rows[i - begin];
            *row =
                (oc_row){.cache = &w->cache, .slot = i, .input = w->inputs + (i - begin) * hidden};
            memcpy(row->position, w->fused->positions[i], sizeof row->position);
            row->taps = oc_fused_taps(w->fused, i, &row->tap_stride);
            row->logits = i + 1 == n ? logits : NULL;
        }
        OC_TRY(oc_decoder_forward(w->model->decoder, &w->model->compute, &w->arena, w->rows,
                                  end - begin, oc_fused_tap_count(w->fused), NULL, err));
    }
    return OCELLI_OK;
}

static int32_t likeliest(const float *logits, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    return (int32_t)best;
}

static ocelli_status run_steps(way *w, outcome *out, ocelli_error *err)
{
    size_t vocab = w->model->config.decoder.vocab;
    OC_TRY(prefill(w, out->logits, err));
    for (size_t i = 0;; i++) {
        out->tokens[i] = likeliest(out->logits + i * vocab, vocab);
        if (i + 1 == STEPS) {
            return OCELLI_OK;
        }
        int32_t position = w->fused->next_position + (int32_t)i;
        OC_TRY(oc_embed_table_gather(w->model->table, &out->tokens[i], 1, w->inputs, err));
        const oc_row row = {.cache = &w->cache,
                            .slot = w->fused->count + i,
                            .position = {position, position, position},
                            .input = w->inputs,
                            .logits = out->logits + (i + 1) * vocab};
        OC_TRY(oc_decoder_forward(w->model->decoder, &w->model->compute, &w->arena, &row, 1, 0,
                                  NULL, err));
    }
}

static ocelli_status run_way(outcome *out, const ocelli_model *model, const oc_fused *fused,
                             size_t chunk, ocelli_error *err)
{
    const oc_kv_shape shape = oc_model_kv_shape(model);
    way w = {.model = model, .fused = fused, .chunk = chunk};
    size_t bytes;
    oc_kv_open(&w.cache, &shape);
    w.inputs = oc_alloc(chunk * model->config.decoder.hidden, sizeof *w.inputs);
    w.rows = oc_alloc(chunk, sizeof *w.rows);
    ocelli_status status =
        w.inputs == NULL || w.rows == NULL ||
                !oc_decoder_scratch(model->decoder, &model->compute, chunk, 1, &bytes)
            ? oc_fail_memory(err, "rows")
            : oc_arena_reserve(&w.arena, bytes, "the decoder", err);
    if (status == OCELLI_OK) {
        status = oc_kv_reserve(&w.cache, fused->count + STEPS, err);
    }
    if (status == OCELLI_OK) {
        status = run_steps(&w, out, err);
    }
    oc_kv_close(&w.cache);
    oc_arena_close(&w.arena);
    oc_free(w.inputs);
    oc_free(w.rows);
    return status;
}

/* ---- all ways -------------------------------------------------------------------------------- */

/* The visual rows of the first model, for all: the decoder is what is compared. */
typedef struct seen {
    ocelli_visual *visuals[MOST_PICTURES];
    oc_medium media[MOST_PICTURES];
    size_t count;
} seen;

static ocelli_status see(seen *out, ocelli_model *model, char *const *pictures, size_t count,
                         ocelli_error *err)
{
    for (size_t i = 0; i < count; i++) {
        ocelli_image *image = NULL;
        OC_TRY(ocelli_image_load(&image, pictures[i], NULL, err));
        ocelli_status status = ocelli_encode_image(&out->visuals[i], model, image, NULL, err);
        ocelli_image_free(image);
        if (status != OCELLI_OK) {
            return status;
        }
        out->media[i] = out->visuals[i]->medium;
        out->count = i + 1;
    }
    return OCELLI_OK;
}

/* The tower's own rows do not depend on the threads either, but for OpenBLAS's order of sums. */
static bool same_rows(const seen *first, const seen *other)
{
    for (size_t i = 0; i < first->count; i++) {
        const oc_medium *a = &first->media[i], *b = &other->media[i];
        size_t values = oc_medium_tokens(a) * a->width;
        for (size_t j = 0; j < values; j++) {
            if (!(fabsf(a->rows[j] - b->rows[j]) <= (float)TOLERANCE_F32)) {
                return false;
            }
        }
    }
    return true;
}

static bool compare(const outcome *first, const outcome *other, size_t vocab, bool exact,
                    const char *what)
{
    double most = 0;
    bool finite = true;
    for (size_t i = 0; i < STEPS * vocab; i++) {
        finite = finite && isfinite(first->logits[i]) && isfinite(other->logits[i]);
        double off = fabs((double)first->logits[i] - (double)other->logits[i]);
        most = off > most ? off : most;
    }
    bool bits = memcmp(first->logits, other->logits, STEPS * vocab * sizeof(float)) == 0;
    bool tokens = memcmp(first->tokens, other->tokens, sizeof first->tokens) == 0;
    bool good = finite && tokens && (exact ? bits : most <= TOLERANCE_F32);
    printf("%s  %-36s largest difference %.3g, tokens %s\n", good ? "PASS" : "FAIL", what, most,
           tokens ? "the same" : "differ");
    return good;
}

typedef struct job {
    const char *directory;
    char *const *pictures;
    size_t picture_count;
    ocelli_quant quant;
    bool exact;
    seen eyes;     /* of the first model */
    outcome first; /* one thread, all rows at once */
} job;

static bool run_threads(job *j, int threads, ocelli_error *err)
{
    static const size_t chunks[] = {SIZE_MAX, 64, 33, 7, 1};
    ocelli_model_options options = OCELLI_MODEL_OPTIONS_INIT;
    ocelli_model *model;
    oc_fused fused = {0};
    seen eyes = {0};
    bool good = true;
    options.quant = j->quant;
    options.threads = threads;
    if (ocelli_model_open(&model, j->directory, &options, err) != OCELLI_OK) {
        return false;
    }
    size_t vocab = model->config.decoder.vocab;
    ocelli_status status = see(&eyes, model, j->pictures, j->picture_count, err);
    if (status == OCELLI_OK && threads == 1) {
        j->eyes = eyes;
        eyes = (seen){0};
    } else if (status == OCELLI_OK && !same_rows(&j->eyes, &eyes)) {
        printf("FAIL  visual rows differ between 1 and %d threads\n", threads);
        good = false;
    }
    if (status == OCELLI_OK) {
        status = fuse_prompt(&fused, model, j->eyes.media, j->eyes.count, err);
    }
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0] && status == OCELLI_OK; i++) {
        char what[64];
        size_t chunk = chunks[i] < fused.count ? chunks[i] : fused.count;
        outcome now = {.logits = oc_alloc(STEPS * vocab, sizeof *now.logits)};
        status = now.logits == NULL ? oc_fail_memory(err, "logits")
                                    : run_way(&now, model, &fused, chunk, err);
        if (status == OCELLI_OK && j->first.logits == NULL) {
            j->first = now;
            continue;
        }
        if (status == OCELLI_OK) {
            snprintf(what, sizeof what, "%s, %d threads, chunks of %zu",
                     ocelli_quant_name(j->quant), threads, chunk);
            good = compare(&j->first, &now, vocab, j->exact, what) && good;
        }
        oc_free(now.logits);
    }
    for (size_t i = 0; i < eyes.count; i++) {
        ocelli_visual_free(eyes.visuals[i]);
    }
    oc_fused_close(&fused);
    ocelli_model_close(model);
    return good && status == OCELLI_OK;
}

static bool run_quant(const char *directory, ocelli_quant quant, char *const *pictures,
                      size_t picture_count)
{
    job j = {.directory = directory,
             .pictures = pictures,
             .picture_count = picture_count,
             .quant = quant,
             .exact = quant != OCELLI_QUANT_F32};
    ocelli_error err = {0};
    bool good = true;
    for (int threads = 1; threads <= 3 && good; threads++) {
        good = run_threads(&j, threads, &err);
    }
    if (err.message[0] != '\0') {
        printf("FAIL  %s as %s: %s\n", directory, ocelli_quant_name(quant), err.message);
    }
    for (size_t i = 0; i < j.eyes.count; i++) {
        ocelli_visual_free(j.eyes.visuals[i]);
    }
    oc_free(j.first.logits);
    return good;
}

int main(int count, char **arguments)
{
    static const ocelli_quant quants[] = {OCELLI_QUANT_F32, OCELLI_QUANT_Q8, OCELLI_QUANT_Q4};
    bool good = true;
    if (count < 3 || count > 2 + MOST_PICTURES) {
        fputs("usage: golden_chunks MODEL PICTURE [PICTURE...]\n", stderr);
        return 2;
    }
    for (size_t i = 0; i < sizeof quants / sizeof quants[0]; i++) {
        good = run_quant(arguments[1], quants[i], arguments + 2, (size_t)count - 2) && good;
    }
    return good ? 0 : 1;
}
