/* patches.c - see patches.h. A pixel has 256 values, so normalising is a look-up. */
#include "vision/patches.h"

enum { CHANNELS = 3, LEVELS = 256 };

typedef struct normal_table {
    float value[CHANNELS][LEVELS];
} normal_table;

/* In float32 and in this order: every value then has the reference's bits. */
static void fill_table(normal_table *table, const oc_patch_rule *rule)
{
    for (int channel = 0; channel < CHANNELS; channel++) {
        for (int level = 0; level < LEVELS; level++) {
            float scaled = (float)level / 255.0f;
            table->value[channel][level] =
                (scaled - rule->mean[channel]) / rule->deviation[channel];
        }
    }
}

/* One patch row: [channel, time, y, x]. origin is the offset of the patch's first pixel. */
static float *cut_patch(float *out, const normal_table *table, const oc_patch_rule *rule,
                        const uint8_t *const *frames, size_t origin, size_t stride)
{
    int size = rule->patch_size;
    for (int channel = 0; channel < CHANNELS; channel++) {
        const float *value = table->value[channel];
        for (int time = 0; time < rule->temporal_patch_size; time++) {
            const uint8_t *row = frames[time] + origin + channel;
            for (int y = 0; y < size; y++, row += stride) {
                for (int x = 0; x < size; x++) {
                    *out++ = value[row[CHANNELS * x]];
                }
            }
        }
    }
    return out;
}

void oc_patches_cut(float *out, const oc_patch_rule *rule, const uint8_t *const *frames, int height,
                    int width)
{
    normal_table table;
    fill_table(&table, rule);
    int merge = rule->merge_size, size = rule->patch_size;
    int rows = height / size, columns = width / size;
    size_t stride = (size_t)width * CHANNELS;
    /* Blocks of merge x merge patches in raster order, raster order again inside a block. */
    for (int block_row = 0; block_row < rows; block_row += merge) {
        for (int block_column = 0; block_column < columns; block_column += merge) {
            for (int row = block_row; row < block_row + merge; row++) {
                for (int column = block_column; column < block_column + merge; column++) {
                    size_t origin = (size_t)row * (size_t)size * stride +
                                    (size_t)column * (size_t)size * CHANNELS;
                    out = cut_patch(out, &table, rule, frames, origin, stride);
                }
            }
        }
    }
}
