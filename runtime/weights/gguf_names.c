/* gguf_names.c - see gguf_names.h. */
#include "runtime/weights/gguf_names.h"

#include <stdio.h>
#include <string.h>

typedef enum meaning { NONE, SAME, TAP } meaning;

/* A '#' in a pattern stands for a number: the same on both sides, or a block on the left and its
 * place among the taps on the right. '*' at the end stands for weight and bias. */
static const struct {
    const char *file, *checkpoint;
    meaning number;
} names[] = {
    {"token_embd.weight", "model.language_model.embed_tokens.weight", NONE},
    {"output_norm.weight", "model.language_model.norm.weight", NONE},
    {"output.weight", "lm_head.weight", NONE},
    {"v.patch_embd.bias", "model.visual.patch_embed.proj.bias", NONE},
    {"v.position_embd.weight", "model.visual.pos_embed.weight", NONE},
    {"v.post_ln.*", "model.visual.merger.norm.*", NONE},
    {"mm.0.*", "model.visual.merger.linear_fc1.*", NONE},
    {"mm.2.*", "model.visual.merger.linear_fc2.*", NONE},
#define LAYER(file, checkpoint)                                                                    \
    {                                                                                              \
        "blk.#." file, "model.language_model.layers.#." checkpoint, SAME                           \
    }
    LAYER("attn_norm.weight", "input_layernorm.weight"),
    LAYER("ffn_norm.weight", "post_attention_layernorm.weight"),
    LAYER("attn_q.*", "self_attn.q_proj.*"),
    LAYER("attn_k.*", "self_attn.k_proj.*"),
    LAYER("attn_v.*", "self_attn.v_proj.*"),
    LAYER("attn_output.*", "self_attn.o_proj.*"),
    LAYER("attn_q_norm.weight", "self_attn.q_norm.weight"),
    LAYER("attn_k_norm.weight", "self_attn.k_norm.weight"),
    LAYER("ffn_gate.weight", "mlp.gate_proj.weight"),
    LAYER("ffn_up.weight", "mlp.up_proj.weight"),
    LAYER("ffn_down.weight", "mlp.down_proj.weight"),
    LAYER("ffn_gate_inp.weight", "mlp.gate.weight"),
    LAYER("ffn_gate_exps.weight", "mlp.experts.gate_up_proj.gate"),
    LAYER("ffn_up_exps.weight", "mlp.experts.gate_up_proj.up"),
    LAYER("ffn_down_exps.weight", "mlp.experts.down_proj"),
#undef LAYER
#define BLOCK(file, checkpoint)                                                                    \
    {                                                                                              \
        "v.blk.#." file, "model.visual.blocks.#." checkpoint, SAME                                 \
    }
    BLOCK("ln1.*", "norm1.*"),
    BLOCK("ln2.*", "norm2.*"),
    BLOCK("attn_qkv.*", "attn.qkv.*"),
    BLOCK("attn_out.*", "attn.proj.*"),
    BLOCK("ffn_up.*", "mlp.linear_fc1.*"),
    BLOCK("ffn_down.*", "mlp.linear_fc2.*"),
#undef BLOCK
#define TAPPED(part, checkpoint)                                                                   \
    {                                                                                              \
        "v.deepstack.#." part ".*", "model.visual.deepstack_merger_list.#." checkpoint ".*", TAP   \
    }
    TAPPED("norm", "norm"),
    TAPPED("fc1", "linear_fc1"),
    TAPPED("fc2", "linear_fc2"),
#undef TAPPED
};

/* What a name has in the places of a pattern. */
typedef struct places {
    size_t number;
    const char *ending;
} places;

/* At most six digits, no zero before another. */
static bool read_number(const char **text, size_t *out)
{
    const char *at = *text;
    size_t value = 0;
    while (*at >= '0' && *at <= '9' && at - *text < 6) {
        value = value * 10 + (size_t)(*at++ - '0');
    }
    bool sound = at > *text && (**text != '0' || at - *text == 1);
    *text = at;
    *out = value;
    return sound;
}

static bool match(const char *pattern, const char *name, places *out)
{
    *out = (places){.ending = ""};
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '#') {
            if (!read_number(&name, &out->number)) {
                return false;
            }
        } else if (*pattern == '*') {
            out->ending = name;
            return strcmp(name, "weight") == 0 || strcmp(name, "bias") == 0;
        } else if (*pattern != *name++) {
            return false;
        }
    }
    return *name == '\0';
}

static bool fill(const char *pattern, const places *values, char out[OC_GGUF_NAME_ROOM])
{
    size_t number = strcspn(pattern, "#");
    size_t end = strcspn(pattern, "*");
    int written =
        pattern[number] == '\0'
            ? snprintf(out, OC_GGUF_NAME_ROOM, "%.*s%s", (int)end, pattern, values->ending)
            : snprintf(out, OC_GGUF_NAME_ROOM, "%.*s%zu%.*s%s", (int)number, pattern,
                       values->number, (int)(end - number - 1), pattern + number + 1,
                       values->ending);
    return written > 0 && written < OC_GGUF_NAME_ROOM;
}

bool oc_gguf_checkpoint_name(const char *name, const oc_gguf_taps *taps,
                             char out[OC_GGUF_NAME_ROOM])
{
    places found;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!match(names[i].file, name, &found)) {
            continue;
        }
        if (names[i].number == TAP) {
            size_t tap = 0;
            while (tap < taps->count && taps->blocks[tap] != found.number) {
                tap++;
            }
            if (tap == taps->count) {
                return false;
            }
            found.number = tap;
        }
        return fill(names[i].checkpoint, &found, out);
    }
    return false;
}

bool oc_gguf_file_name(const char *checkpoint_name, const oc_gguf_taps *taps,
                       char out[OC_GGUF_NAME_ROOM])
{
    places found;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!match(names[i].checkpoint, checkpoint_name, &found)) {
            continue;
        }
        if (names[i].number == TAP) {
            if (found.number >= taps->count) {
                return false;
            }
            found.number = taps->blocks[found.number];
        }
        return fill(names[i].file, &found, out);
    }
    return false;
}
