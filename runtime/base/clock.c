/* clock.c - see clock.h. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/base/clock.h"

#include <time.h>

double oc_clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
