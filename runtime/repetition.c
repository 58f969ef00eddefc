/* repetition.c - see repetition.h. */
#include "runtime/repetition.h"

enum { LONGEST_PHRASE = 64, LEAST_TIMES = 8, LEAST_TOKENS = 160 };

bool oc_repetition_found(const int32_t *ids, size_t count)
{
    for (size_t phrase = 1; phrase <= LONGEST_PHRASE; phrase++) {
        size_t span = phrase * LEAST_TIMES > LEAST_TOKENS ? phrase * LEAST_TIMES : LEAST_TOKENS;
        size_t same = 0; /* trailing tokens that equal the one a phrase before */
        while (same + phrase < span && same + phrase < count &&
               ids[count - 1 - same] == ids[count - 1 - same - phrase]) {
            same++;
        }
        if (same + phrase >= span) {
            return true;
        }
    }
    return false;
}
