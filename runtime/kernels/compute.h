/* compute.h - what every operation is handed: the kernels of this CPU and the threads. */
#ifndef OC_KERNELS_COMPUTE_H
#define OC_KERNELS_COMPUTE_H

#include "runtime/base/pool.h"
#include "runtime/kernels/kernels.h"

typedef struct oc_compute {
    const oc_kernels *kernels;
    oc_pool *pool; /* NULL: serial */
} oc_compute;

#endif
