/* decoder.h - the language model: float rows in, logits out.
 *
 * Its first input is float32 rows (gathered text embeddings or visual rows), never token ids. A
 * forward takes any mix of rows, each with the cache of its own session. */
#ifndef OC_TEXT_DECODER_H
#define OC_TEXT_DECODER_H

#include "runtime/base/arena.h"
#include "runtime/weights/loader.h"
#include "text/embed_table.h"
#include "text/kv_cache.h"
#include "text/mrope.h"

enum { OC_DECODER_MOST_LAYERS = 1024, OC_DECODER_MOST_EXPERTS = 4096 };

typedef struct oc_decoder_config {
    size_t layers, hidden, heads, kv_heads, head_dim, intermediate, vocab;
    float rms_norm_eps;
    oc_mrope_config mrope;
    bool attention_bias; /* q, k, v and, unless plain_output, o have biases */
    bool plain_output;
    bool plain_heads; /* no norm on queries and keys (Qwen2) */
    bool tied;        /* lm_head is embed_tokens */
    bool tie_is_said; /* by the config; else a missing lm_head means tied */
    size_t context;   /* max_position_embeddings */
    /* Mixture of experts; experts 0: every layer is dense. */
    size_t experts, experts_per_token, expert_intermediate;
    bool *sparse; /* [layers]: the layer has experts; NULL when experts is 0; owned by the config */
} oc_decoder_config;

typedef struct oc_decoder oc_decoder;

/* One row of a forward. */
typedef struct oc_row {
    oc_kv_cache *cache;  /* of its session; slots [0, slot] reserved, [0, slot) filled before */
    size_t slot;         /* where its key and value go */
    int32_t position[3]; /* rotary position: t, h, w */
    const float *input;  /* [hidden] */
    const float *taps;   /* deepstack: tap i's row at taps + i * tap_stride; NULL: none */
    size_t tap_stride;
    float *logits; /* [vocab], or NULL: not wanted */
    bool
        filled; /* slot holds its key and value already, and is not written: the row is run again to
                    * see it work */
} oc_row;

/* As oc_trace of the vision tower, which this layer cannot see: names "layer_0"... */
typedef struct oc_decoder_trace {
    void (*fn)(void *user, const char *name, const float *rows, size_t count, size_t width);
    void *user;
    /* NULL: none. Told in every layer what attention is about to be asked, rows [count] in the
     * forward's order; out is not filled yet. oc_attention_weights tells what it will look at. */
    void (*attention)(void *user, size_t layer, const oc_attention_row *rows, size_t count);
} oc_decoder_trace;

/* Asks loader for every tensor, in the order that a package stores them. has_head: the files hold
 * lm_head.weight; else the tied table is asked for. config is copied, its sparse array too. */
ocelli_status oc_decoder_load(oc_decoder **out, const oc_decoder_config *config, oc_loader *loader,
                              bool has_head, ocelli_error *err);
void oc_decoder_close(oc_decoder *decoder);
const oc_decoder_config *oc_decoder_get_config(const oc_decoder *decoder);
const oc_matrix *oc_decoder_head(const oc_decoder *decoder);
/* Gives a tied decoder the table that its head is the quantised form of, to settle the best logits
 * with (head.h says when). The table must live as long as the decoder. */
void oc_decoder_settle(oc_decoder *decoder, const oc_embed_table *table);

/* Elements of all matrices, for progress. */
uint64_t oc_decoder_elements(const oc_decoder_config *config);

/* Scratch bytes of a forward of at most rows rows, of which at most logits want logits. */
bool oc_decoder_scratch(const oc_decoder *decoder, const oc_compute *compute, size_t rows,
                        size_t logits, size_t *bytes);

/* Runs rows[0 .. count). Rows of one session must be in slot order. taps: how many deepstack taps a
 * row's taps hold (added after decoder layers 0, 1, ... in that order). */
ocelli_status oc_decoder_forward(const oc_decoder *decoder, const oc_compute *compute,
                                 oc_arena *arena, const oc_row *rows, size_t count, size_t taps,
                                 const oc_decoder_trace *trace, ocelli_error *err);

#endif
