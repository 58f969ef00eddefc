/* model_shape.h - the sizes of a model as its config.json has them.
 *
 * The program sees of the library only its header, which tells what a model needs; what it is made
 * of, tensor by tensor, is read here from the file that every checkpoint and package carries.
 */
#ifndef OCELLI_TOOLS_MODEL_SHAPE_H
#define OCELLI_TOOLS_MODEL_SHAPE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

/* Beyond any published model. */
enum { SHAPE_MOST_LAYERS = 1024, SHAPE_MOST_TAPS = 16 };

/* Feed-forward of the tower's blocks. */
typedef enum shape_mlp {
    SHAPE_MLP_TANH,  /* mlp.linear_fc1, linear_fc2 */
    SHAPE_MLP_QUICK, /* mlp.fc1, fc2 */
    SHAPE_MLP_GATED  /* mlp.gate_proj, up_proj, down_proj; and its norms have no biases */
} shape_mlp;

typedef struct model_shape {
    /* What its tower's keys tell: embed_dim of Qwen2-VL, windows of Qwen2.5-VL, neither of
     * Qwen3-VL. The first two are older: their tensor names are shorter, q, k and v have biases and
     * no norms, the patch embedding has none, there are no learned positions. */
    bool older;
    shape_mlp mlp;
    /* The decoder. */
    uint64_t layers, hidden, intermediate, heads, kv_heads, head_dim, vocab;
    uint64_t experts, experts_per_token, expert_intermediate; /* 0: dense */
    bool sparse[SHAPE_MOST_LAYERS];                           /* [layers] whose MLP is experts */
    bool tied, attention_bias;
    /* The vision tower. */
    uint64_t vision_layers, vision_hidden, vision_intermediate, vision_heads;
    uint64_t channels, temporal, patch, merge, positions, taps;
} model_shape;

/* text_config, or config itself where that is flat. */
cJSON *model_shape_text(const cJSON *config);

/* Fills *out from the tree of a config.json; name is for messages. False after a message. */
bool model_shape_read(model_shape *out, const cJSON *config, const char *name);

/* Reads folder/config.json and fills *out. False after a message. */
bool model_shape_load(model_shape *out, const char *folder);

/* The tree of a JSON file, for the caller to delete; NULL after a message. */
cJSON *json_file_read(const char *path);

/* folder/name, for the caller to free; NULL: no memory, after a message. */
char *path_join(const char *folder, const char *name);
/* path with suffix right behind it; as path_join. */
char *path_with_suffix(const char *path, const char *suffix);

#endif
