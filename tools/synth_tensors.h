/* synth_tensors.h - the tensors of a checkpoint: names, shapes, and how large their values are.
 *
 * A checkpoint of random weights is of use if the numbers that flow through it are of the size of a
 * trained one's: nothing overflows, no attention is all on one token, and the logits differ. So
 *
 *     matrices                    mean 0, deviation gain / sqrt(columns): rows of size one become
 *                                 rows of size one. gain is 1; of the matrices that write to the
 *                                 residual stream (o_proj, down_proj; in the tower attn.proj and
 *                                 linear_fc2, fc2 or down_proj of the blocks) 1 / sqrt(2 x layers
 *                                 of that tower), so that all of them together add about one; of
 *                                 the mergers' linear_fc2 or mlp.2 1/2
 *     expert tensors              the same, where columns are their second axis (they are stored
 *                                 transposed)
 *     norms' weights              mean 1, deviation 0.05
 *     biases                      mean 0, deviation 0.02
 *     embed_tokens, lm_head       mean 0, deviation 0.01
 *     pos_embed                   mean 0, deviation 0.05
 */
#ifndef OCELLI_TOOLS_SYNTH_TENSORS_H
#define OCELLI_TOOLS_SYNTH_TENSORS_H

#include "tools/model_shape.h"

#include <stddef.h>

typedef struct synth_tensor {
    char name[96];
    int rank;
    uint64_t shape[5]; /* [rank] */
    uint64_t count;    /* of values */
    double mean, deviation;
    /* Where it goes: synth_tensors_place. */
    size_t shard;
    uint64_t offset; /* in the data of its shard, in bytes */
} synth_tensor;

typedef struct synth_tensors {
    synth_tensor *items; /* [count], in the order in which they are written */
    size_t count, room;
    uint64_t text_values, vision_values;
    size_t shards;
    bool failed; /* no memory */
} synth_tensors;

/* Lists the tensors of a model and cuts them into shards of at most shard_bytes of data, a larger
 * tensor having one of its own. False after a message. */
bool synth_tensors_open(synth_tensors *out, const model_shape *shape, uint64_t shard_bytes);
void synth_tensors_close(synth_tensors *tensors);

#endif
