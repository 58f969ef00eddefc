/* synth_shapes.h - the published shapes that 'ocelli synth' knows, once: synth_config.c makes its
 * table of them, commands.c the help and the completions. */
#ifndef OCELLI_TOOLS_SYNTH_SHAPES_H
#define OCELLI_TOOLS_SYNTH_SHAPES_H

/* ROW(name, and the other fields of synth_config.c's struct published). */
/* clang-format off */
#define SYNTH_SHAPES(ROW)                                                                         \
    ROW("qwen3-vl-2b", 2048, 28, 16, 8, 6144, true, &SMALL_TOWER, 0, 0, 0)                        \
    ROW("qwen3-vl-4b", 2560, 36, 32, 8, 9728, true, &SMALL_TOWER, 0, 0, 0)                        \
    ROW("qwen3-vl-8b", 4096, 36, 32, 8, 12288, false, &LARGE_TOWER, 0, 0, 0)                      \
    ROW("qwen3-vl-32b", 5120, 64, 64, 8, 25600, false, &LARGE_TOWER, 0, 0, 0)                     \
    ROW("qwen3-vl-30b-a3b", 2048, 48, 32, 4, 6144, false, &LARGE_TOWER, 128, 8, 768)              \
    ROW("qwen3-vl-235b-a22b", 4096, 94, 64, 4, 12288, false, &LARGE_TOWER, 128, 8, 1536)          \
    ROW("qwen2.5-vl-3b", 2048, 36, 16, 2, 11008, true, &WINDOWS_TOWER, 0, 0, 0)                   \
    ROW("qwen2-vl-2b", 1536, 28, 12, 2, 8960, true, &FIRST_TOWER, 0, 0, 0)
/* clang-format on */

/* The names: "a b " for the completions, "a, b, " for a sentence. */
#define SYNTH_SHAPE_WORDS SYNTH_SHAPES(SYNTH_SHAPE_AND_SPACE)
#define SYNTH_SHAPE_TEXT SYNTH_SHAPES(SYNTH_SHAPE_AND_COMMA)
#define SYNTH_SHAPE_AND_SPACE(name, ...) name " "
#define SYNTH_SHAPE_AND_COMMA(name, ...) name ", "

#endif
