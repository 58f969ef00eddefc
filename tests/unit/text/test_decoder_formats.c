/* test_decoder_formats.c - which tensor of a decoder is held in which format. */
#include "text/decoder.h"

#include "runtime/config.h"
#include "runtime/kernels/dispatch.h"

#include <criterion/criterion.h>
#include <string.h>

#define MODELS OCELLI_TEST_DATA "/golden/qwen3vl/models/"

typedef struct tally {
    size_t keyed, other, head, vectors; /* matrices seen of each kind */
    size_t wrong;
    oc_format keyed_format, other_format, head_format;
} tally;

static ocelli_status see(void *user, const char *name, oc_format format, size_t rows, size_t cols,
                         const void *data, size_t bytes, ocelli_error *err)
{
    tally *t = user;
    (void)cols;
    (void)bytes;
    (void)err;
    cr_assert_null(data); /* announced only */
    if (rows == 1) {
        t->vectors++;
    } else if (strstr(name, "lm_head") != NULL || strstr(name, "embed_tokens") != NULL) {
        t->head++;
        t->wrong += format != t->head_format;
    } else if (strstr(name, ".k_proj.weight") != NULL || strstr(name, ".v_proj.weight") != NULL) {
        t->keyed++;
        t->wrong += format != t->keyed_format;
    } else if (strstr(name, "mlp.gate.weight") != NULL) { /* a router */
        t->wrong += format != OC_FORMAT_F32;
    } else {
        t->other++;
        t->wrong += format != t->other_format;
    }
    return OCELLI_OK;
}

/* Loads the decoder of model through a sink; returns its layers. */
static size_t walk(const char *model, oc_format format, tally *t)
{
    ocelli_error err = {0};
    oc_config config;
    oc_weights *weights;
    oc_loader *loader;
    oc_decoder *decoder;
    oc_kernels kernels;
    oc_loader_sink sink = {.user = t, .put = see, .announce_only = true};
    cr_assert_eq(oc_kernels_choose(&kernels, NULL, &err), OCELLI_OK);
    cr_assert_eq(oc_config_read(&config, model, &err), OCELLI_OK, "%s", err.message);
    cr_assert_eq(oc_weights_open(&weights, model, &err), OCELLI_OK, "%s", err.message);
    oc_loader_options options = {
        .weights = weights, .compute = {.kernels = &kernels}, .format = format};
    cr_assert_eq(oc_loader_open(&loader, &options, &err), OCELLI_OK);
    oc_loader_set_sink(loader, &sink);
    cr_assert_eq(oc_decoder_load(&decoder, &config.decoder, loader, !config.decoder.tied, &err),
                 OCELLI_OK, "%s", err.message);
    size_t layers = config.decoder.layers;
    oc_decoder_close(decoder);
    oc_loader_close(loader);
    oc_weights_close(weights);
    oc_config_close(&config);
    return layers;
}

/* A tied Q4 decoder: keys and values in Q8, the head, which can be settled, in Q4. */
Test(decoder_formats, tied_q4)
{
    tally t = {
        .keyed_format = OC_FORMAT_Q8, .other_format = OC_FORMAT_Q4, .head_format = OC_FORMAT_Q4};
    size_t layers = walk(MODELS "t1_bf16", OC_FORMAT_Q4, &t);
    cr_assert_eq(t.wrong, 0);
    cr_assert_eq(t.keyed, 2 * layers);
    cr_assert_eq(t.other, 5 * layers);
    cr_assert_eq(t.head, 1);
    cr_assert_eq(t.vectors, 4 * layers + 1); /* q and k norms too */
}

/* An untied head has no table to settle with: Q8. */
Test(decoder_formats, untied_q4)
{
    tally t = {
        .keyed_format = OC_FORMAT_Q8, .other_format = OC_FORMAT_Q4, .head_format = OC_FORMAT_Q8};
    size_t layers = walk(MODELS "t2_sharded_bf16", OC_FORMAT_Q4, &t);
    cr_assert_eq(t.wrong, 0);
    cr_assert_eq(t.keyed, 2 * layers);
    cr_assert_eq(t.head, 1);
}

/* All else is of one format. */
Test(decoder_formats, others)
{
    static const oc_format formats[] = {OC_FORMAT_F32, OC_FORMAT_F16, OC_FORMAT_Q8};
    for (size_t i = 0; i < 3; i++) {
        tally t = {
            .keyed_format = formats[i], .other_format = formats[i], .head_format = formats[i]};
        size_t layers = walk(MODELS "t1_f32", formats[i], &t);
        cr_assert_eq(t.wrong, 0);
        cr_assert_eq(t.keyed + t.other + t.head, 7 * layers + 1);
    }
}
