/* model.h - an open model: configs, towers, tokenizer, embedding table, threads. Read-only after it
 * opens, except for the reference count and the lock that computing calls take in turn. */
#ifndef OC_MODEL_H
#define OC_MODEL_H

#include "runtime/base/log.h"
#include "runtime/config.h"
#include "runtime/package.h"
#include "runtime/source.h"
#include "text/bpe.h"
#include "text/embed_table.h"

#include <pthread.h>
#include <stdatomic.h>

struct ocelli_model {
    atomic_int references;
    oc_source source;
    char *directory; /* what the model is called in messages */
    bool packaged;
    bool copy_weights;
    bool plan_only; /* its matrices have sizes and no data */
    ocelli_quant quant;
    ocelli_vision vision;
    oc_config config;
    oc_log log;
    oc_kernels kernels;
    oc_pool *pool;
    oc_compute compute;
    pthread_mutex_t compute_lock; /* towers share the pool and scratch: one forward at a time */
    oc_arena scratch;
    oc_weights *decoder_files, *vision_files; /* one and the same of a checkpoint or GGUF files */
    oc_loader *decoder_loader, *vision_loader;
    oc_vit *vit; /* NULL, and vision_loader too: a model that only reads text */
    oc_decoder *decoder;
    oc_embed_table *table;
    uint64_t embed_budget;
    oc_bpe *bpe;
    oc_dtype stored_dtype; /* the one with the most bytes of a checkpoint (oc_source_dtype) */
    oc_manifest manifest;  /* of a package */
    double opened;         /* when, by oc_clock_seconds */
    /* Which tower it is (visual_key.c); behind compute_lock. */
    oc_hash tower;
    bool tower_is_known;
};

ocelli_model *oc_model_retain(ocelli_model *model);

/* Keys and values are kept in float32 beside float32 weights; else in bfloat16 where the CPU
 * multiplies it and in float16 where not. */
oc_kv_shape oc_model_kv_shape(const ocelli_model *model);

/* Rows of a prefill step when the caller does not say. */
enum { OC_PREFILL_ROWS = 512 };

/* Scratch of the decoder for prefill_rows, and of the tower for so many temporal groups of a grid. */
bool oc_model_decoder_scratch(const ocelli_model *model, size_t prefill_rows, size_t *bytes);
bool oc_model_vision_scratch(const ocelli_model *model, size_t groups, size_t grid_h, size_t grid_w,
                             size_t *bytes);

/* Waits for the model's turn to compute and takes it, with that much free in model->scratch; what
 * is for messages. OCELLI_E_IO when a file of the model has become shorter: to read on would end
 * the process. On failure the turn is not taken. */
ocelli_status oc_model_begin(ocelli_model *model, size_t scratch, const char *what,
                             ocelli_error *err);
/* Gives the turn back. Scratch is kept for the next one unless it is very large. */
void oc_model_end(ocelli_model *model);

/* Which format of the decoder's matrices a quantisation stands for, and of the tower's. */
oc_format oc_quant_format(ocelli_quant quant);
oc_format oc_vision_format(ocelli_vision vision);
/* The form that default stands for beside a quantisation:
 * the reference path is exact everywhere. */
ocelli_vision oc_vision_beside(ocelli_vision vision, ocelli_quant quant);

/* OCELLI_E_ARGUMENT, saying what to give, for a text model without its vision file. */
ocelli_status oc_model_check_sees(const ocelli_model *model, ocelli_error *err);

/* OCELLI_E_STATE, naming what, for a model that was opened to plan only. */
ocelli_status oc_model_check_computes(const ocelli_model *model, const char *what,
                                      ocelli_error *err);

#endif
