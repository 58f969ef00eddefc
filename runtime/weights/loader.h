/* loader.h - turns named tensors into matrices and vectors: quantised on the way in from a
 * checkpoint, mapped in place from a package. A tower asks for every weight by name and shape; it
 * does not know which of the two it gets. */
#ifndef OC_WEIGHTS_LOADER_H
#define OC_WEIGHTS_LOADER_H

#include "runtime/base/log.h"
#include "runtime/kernels/compute.h"
#include "runtime/kernels/matrix.h"
#include "runtime/weights/weights.h"

typedef struct oc_loader oc_loader;

typedef struct oc_loader_options {
    const oc_weights *weights; /* borrowed; must outlive the loader */
    oc_compute compute;        /* packing is split over the pool */
    oc_format format;          /* of matrices, unless the file holds them packed */
    const oc_log *log;         /* may be NULL */
    ocelli_progress_fn progress;
    void *progress_user;
    const char *progress_what; /* "quantising" */
    uint64_t progress_total;   /* elements; 0: not known */
} oc_loader_options;

ocelli_status oc_loader_open(oc_loader **out, const oc_loader_options *options, ocelli_error *err);
/* Frees every matrix and vector it gave: keep it as long as the tower lives. */
void oc_loader_close(oc_loader *loader);
/* The format asked for in the options. */
oc_format oc_loader_format(const oc_loader *loader);
/* Bytes of matrices and vectors given so far (packed or mapped). */
uint64_t oc_loader_bytes(const oc_loader *loader);
/* Elements of them: what options.progress_total is measured in. */
uint64_t oc_loader_elements(const oc_loader *loader);
/* Bytes of them in memory of our own (not mapped). */
uint64_t oc_loader_owned_bytes(const oc_loader *loader);
/* Bytes of them that no file of a checkpoint holds as they are wanted: what a loader that keeps its
 * weights owns, and one that was asked for sizes only would. */
uint64_t oc_loader_made_bytes(const oc_loader *loader);

/* Matrix [rows, cols] of tensor name. A tensor of higher rank is taken as its flattening when the
 * product of its last axes is cols (the patch embedding's [H, 3, 2, 16, 16]). F32 and F16 from an
 * aligned tensor of that type, and what a package holds packed, are used in place; all else is
 * packed into memory of the loader. Errors as oc_weights_get; a packed tensor whose format, size or
 * shape is not what its metadata and the caller say is OCELLI_E_FORMAT. */
ocelli_status oc_loader_matrix(oc_loader *loader, const char *name, size_t rows, size_t cols,
                               oc_matrix *out, ocelli_error *err);
/* As above in another format than the loader's (an untied lm_head is Q8 when the body is Q4). */
ocelli_status oc_loader_matrix_as(oc_loader *loader, const char *name, size_t rows, size_t cols,
                                  oc_format format, oc_matrix *out, ocelli_error *err);
/* Vector [count], widened to float32. */
ocelli_status oc_loader_vector(oc_loader *loader, const char *name, size_t count, const float **out,
                               ocelli_error *err);

/* One expert's three matrices out of the fused tensors of a checkpoint, or of a package.
 *   gate_up_name: [E, hidden, 2*inter] (input-major, as on the hub) or [E, 2*inter, hidden];
 *   down_name:    [E, inter, hidden]   (input-major)               or [E, hidden, inter].
 * Decided by shape; where one of the two fits both ways (hidden == 2*inter, or inter == hidden),
 * the other cannot, and decides for both. gate and up are [inter, hidden], down is [hidden, inter].
 * A GGUF file has gate_up as two tensors, "<gate_up_name>.gate" and ".up" [E, inter, hidden].
 * A package stores them one by one as "<gate_up_name>.<expert>.gate", "<gate_up_name>.<expert>.up"
 * and "<down_name>.<expert>". */
typedef struct oc_expert {
    oc_matrix gate, up, down;
} oc_expert;
ocelli_status oc_loader_expert(oc_loader *loader, const char *gate_up_name, const char *down_name,
                               size_t expert, size_t experts, size_t hidden, size_t inter,
                               oc_expert *out, ocelli_error *err);

/* ---- writing a package: the same requests, written down instead of kept -------------------- */

/* With a sink set, every matrix and vector asked for is announced (name, format or F32 for vectors,
 * its bytes) and, if write is set, handed over and freed at once, so that packing needs memory for
 * one tensor. The oc_matrix given back to the tower then has data NULL. */
typedef struct oc_loader_sink {
    void *user;
    /* rows 1 for a vector. data NULL: an announcement only (the first pass, for the header). */
    ocelli_status (*put)(void *user, const char *name, oc_format format, size_t rows, size_t cols,
                         const void *data, size_t bytes, ocelli_error *err);
    bool announce_only;
} oc_loader_sink;
void oc_loader_set_sink(oc_loader *loader, const oc_loader_sink *sink);
/* With a sink of its own: every request is answered with its size and no data; nothing is read. */
void oc_loader_only_sizes(oc_loader *loader);

#endif
