/* positions.c - see positions.h. */
#include "fusion/positions.h"

int32_t oc_positions_assign(int32_t (*positions)[3], const int32_t *medium, const int32_t *row,
                            size_t count, const oc_medium *media)
{
    int32_t current = 0; /* where the next block or text token begins */
    int32_t block = 0;   /* where the block we are in began */
    for (size_t i = 0; i < count; i++) {
        if (medium[i] < 0) {
            positions[i][0] = positions[i][1] = positions[i][2] = current;
            current++;
            continue;
        }
        const oc_medium *of = &media[medium[i]];
        int32_t width = (int32_t)(of->grid_w / of->merge_size);
        int32_t height = (int32_t)(of->grid_h / of->merge_size);
        int32_t inside = row[i] % (width * height);
        if (inside == 0) {
            block = current;
            current += width > height ? width : height;
        }
        positions[i][0] = block;
        positions[i][1] = block + inside / width;
        positions[i][2] = block + inside % width;
    }
    return current;
}
