/* pool_tsan.c - the pool's checks as a plain program, for ThreadSanitizer and valgrind: the test
 * framework forks, which they do not like. Exit code 0: all well. */
#include "tests/unit/base/pool_check.h"

#include <stdio.h>

int main(void)
{
    for (int threads = 1; threads <= 4; threads++) {
        const char *wrong = check_sizes(threads);
        wrong = wrong == NULL ? check_hammer(threads, 500) : wrong;
        if (wrong != NULL) {
            fprintf(stderr, "pool_tsan: %d threads: %s\n", threads, wrong);
            return 1;
        }
    }
    puts("pool_tsan: ok");
    return 0;
}
