/* loader_pack.h - packs a matrix out of a mapped tensor, tile by tile, split over the pool.
 *
 * The source may be stored row by row or column by column (the experts of the hub's checkpoints);
 * each worker widens a few rows at a time into its own scratch, so that no float32 copy of the
 * whole matrix is ever made. */
#ifndef OC_WEIGHTS_LOADER_PACK_H
#define OC_WEIGHTS_LOADER_PACK_H

#include "runtime/kernels/compute.h"
#include "runtime/kernels/matrix.h"
#include "runtime/weights/weights.h"

/* W [rows, cols] inside a tensor of a weight's dtype: row r's column c is the tensor's
 * element first + r * row_step + c * col_step, and one of the two steps is 1. */
typedef struct oc_pack_source {
    oc_tensor tensor;
    size_t first;
    size_t rows, cols;
    size_t row_step, col_step;
} oc_pack_source;

/* Told after every slice with the elements packed since the last call; anything but OCELLI_OK stops
 * the packing and is returned. */
typedef ocelli_status (*oc_pack_step_fn)(void *user, uint64_t elements, ocelli_error *err);

typedef struct oc_pack_job {
    const oc_pack_source *source;
    const char *name; /* of the tensor, for messages */
    oc_format format;
    void *data;                /* oc_matrix_bytes of room */
    const oc_weights *weights; /* pages of the source that are done with are given back */
    oc_pack_step_fn step;
    void *step_user;
} oc_pack_job;

/* OCELLI_E_FORMAT, naming tensor and place, for a weight that is not finite or does not fit the
 * format (F32 takes any); the first in row order, whatever the threads. OCELLI_E_MEMORY. */
ocelli_status oc_pack_run(const oc_compute *compute, const oc_pack_job *job, ocelli_error *err);

#endif
