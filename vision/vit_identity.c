/* vit_identity.c - which tower it is: a hash of its config and of the weights as they are held.
 *
 * Not of the files: the same checkpoint may be held as bfloat16 or int8, a package's manifest may
 * belong to a file that was replaced, and a GGUF file's names and metadata change nothing here. */
#include "vision/vit_weights.h"

#include <string.h>

/* Hashes are chained, so that order and number count. No padding: it is hashed as bytes. */
typedef struct link {
    oc_hash chain, bytes;
    uint64_t rows, cols, format; /* format + 1; 0: float32 numbers of a vector */
} link;

static void add(oc_hash *chain, const void *bytes, size_t size, uint64_t rows, uint64_t cols,
                uint64_t format)
{
    link l = {.chain = *chain, .rows = rows, .cols = cols, .format = format};
    if (bytes != NULL) { /* else a tensor that this family does not have */
        l.bytes = oc_hash_bytes(bytes, size);
    }
    *chain = oc_hash_bytes(&l, sizeof l);
}

static void add_vector(oc_hash *chain, const float *values, size_t count)
{
    add(chain, values, count * sizeof *values, 1, count, 0);
}

static void add_matrix(oc_hash *chain, const oc_matrix *matrix)
{
    size_t bytes = 0;
    (void)oc_matrix_bytes(matrix->format, matrix->rows, matrix->cols, &bytes); /* it is held */
    add(chain, matrix->data, bytes, matrix->rows, matrix->cols, (uint64_t)matrix->format + 1);
}

static void add_config(oc_hash *chain, const oc_vit_config *config)
{
    const oc_patch_rule *patch = &config->patch;
    const uint64_t numbers[] = {config->layers,
                                config->hidden,
                                config->heads,
                                config->head_dim,
                                config->intermediate,
                                config->out_hidden,
                                config->position_side,
                                config->plain_patches,
                                config->numbered_merger,
                                (uint64_t)config->norm,
                                (uint64_t)config->mlp,
                                config->window,
                                config->tap_count,
                                (uint64_t)patch->patch_size,
                                (uint64_t)patch->temporal_patch_size,
                                (uint64_t)patch->merge_size,
                                (uint64_t)patch->channels};
    add(chain, numbers, sizeof numbers, 1, sizeof numbers / sizeof *numbers, 0);
    for (size_t i = 0; i < config->layers; i++) {
        const uint64_t whole = config->whole[i];
        add(chain, &whole, sizeof whole, 1, 1, 0);
    }
    for (size_t i = 0; i < config->tap_count; i++) {
        const uint64_t tap = config->taps[i];
        add(chain, &tap, sizeof tap, 1, 1, 0);
    }
    add_vector(chain, patch->mean, sizeof patch->mean / sizeof *patch->mean);
    add_vector(chain, patch->deviation, sizeof patch->deviation / sizeof *patch->deviation);
}

static void add_block(oc_hash *chain, const oc_vit_block *block, const oc_vit_config *config)
{
    size_t hidden = config->hidden, wide = config->intermediate;
    add_vector(chain, block->norm1_weight, hidden);
    add_vector(chain, block->norm1_bias, hidden);
    add_matrix(chain, &block->qkv);
    add_vector(chain, block->qkv_bias, 3 * hidden);
    add_matrix(chain, &block->projection);
    add_vector(chain, block->projection_bias, hidden);
    add_vector(chain, block->norm2_weight, hidden);
    add_vector(chain, block->norm2_bias, hidden);
    add_matrix(chain, &block->gate);
    add_vector(chain, block->gate_bias, wide);
    add_matrix(chain, &block->fc1);
    add_vector(chain, block->fc1_bias, wide);
    add_matrix(chain, &block->fc2);
    add_vector(chain, block->fc2_bias, hidden);
}

static void add_merger(oc_hash *chain, const oc_vit_merger *merger, size_t norm_width,
                       const oc_vit_config *config)
{
    add_vector(chain, merger->norm_weight, norm_width);
    add_vector(chain, merger->norm_bias, norm_width);
    add_matrix(chain, &merger->fc1);
    add_vector(chain, merger->fc1_bias, merger->fc1.rows);
    add_matrix(chain, &merger->fc2);
    add_vector(chain, merger->fc2_bias, config->out_hidden);
}

oc_hash oc_vit_identity(const oc_vit *vit)
{
    const oc_vit_config *config = &vit->config;
    size_t merge = (size_t)config->patch.merge_size;
    oc_hash chain;
    memset(&chain, 0, sizeof chain);
    add_config(&chain, config);
    add_matrix(&chain, &vit->patch_embed);
    add_vector(&chain, vit->patch_bias, config->hidden);
    add_matrix(&chain, &vit->positions);
    for (size_t i = 0; i < config->layers; i++) {
        add_block(&chain, &vit->blocks[i], config);
    }
    add_merger(&chain, &vit->merger, config->hidden, config);
    for (size_t i = 0; i < config->tap_count; i++) {
        add_merger(&chain, &vit->tap_mergers[i], config->hidden * merge * merge, config);
    }
    return chain;
}
