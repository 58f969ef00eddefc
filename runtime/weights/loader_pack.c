/* loader_pack.c - see loader_pack.h. */
#include "runtime/weights/loader_pack.h"

#include "runtime/base/memory.h"
#include "runtime/kernels/bf16_format.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Rows that one worker widens at a time: two tiles, so that reading a column-by-column source takes
 * whole cache lines (32 bf16 are 64 bytes). */
enum { PIECE_ROWS = 2 * OC_MATRIX_TILE };

/* Elements between two reports of progress: some hundredths of a second of packing. */
enum { SLICE_ELEMENTS = 1 << 22 };

/* One parallel region; row numbers of the pool's ranges count from row. */
typedef struct pack_slice {
    const oc_pack_job *job;
    size_t row;
    float *scratch; /* [threads, PIECE_ROWS, cols] */
    size_t scratch_step;
    float limit;           /* a weight beyond it, or NaN, is refused; 0: none is */
    atomic_size_t bad_row; /* the first row with such a weight; SIZE_MAX: none */
} pack_slice;

/* Rows [row, row + count) as float32 [count, cols]. */
static void widen_rows(const oc_pack_source *source, size_t row, size_t count, float *out)
{
    size_t first = source->first + row * source->row_step;
    if (source->col_step == 1) {
        for (size_t r = 0; r < count; r++) {
            oc_tensor_widen(&source->tensor, first + r * source->row_step, source->cols,
                            out + r * source->cols);
        }
        return;
    }
    float column[PIECE_ROWS];
    for (size_t c = 0; c < source->cols; c++) {
        oc_tensor_widen(&source->tensor, first + c * source->col_step, count, column);
        for (size_t r = 0; r < count; r++) {
            out[r * source->cols + c] = column[r];
        }
    }
}

static bool is_beyond(float weight, float limit)
{
    return !(fabsf(weight) < limit); /* so that NaN is too */
}

static void note_bad(pack_slice *slice, size_t row)
{
    size_t seen = atomic_load(&slice->bad_row);
    while (row < seen && !atomic_compare_exchange_weak(&slice->bad_row, &seen, row)) {
    }
}

/* ---- bfloat16 to bfloat16 -------------------------------------------------------------------- */

/* A tower of 400 million weights is packed at every opening of a checkpoint: its numbers are moved
 * as they are, two at a time, and not made float32 on the way. */
static bool is_move(const oc_pack_job *job)
{
    const oc_pack_source *source = job->source;
    return job->format == OC_FORMAT_BF16 && source->tensor.dtype == OC_BF16 &&
           source->col_step == 1 && source->cols % OC_BF16_STEP == 0;
}

/* Moves one row, cols / 2 pairs, to its places in the tile, which are a line apart. Returns nonzero
 * if one of the numbers is not finite: all bits of its exponent are set, and one more carries into
 * the sign's place. */
static uint32_t move_row(unsigned char *tile, size_t lane, const unsigned char *row, size_t cols)
{
    uint32_t bad = 0;
    unsigned char *to = tile + oc_bf16_at(lane, 0);
    for (size_t s = 0; s < cols / OC_BF16_STEP; s++) {
        uint32_t pair;
        memcpy(&pair, row + s * sizeof pair, sizeof pair);
        bad |= (pair & 0x7f807f80u) + 0x00800080u;
        memcpy(to + s * OC_BF16_LINE, &pair, sizeof pair);
    }
    return bad & 0x80008000u;
}

static void move_range(void *user, size_t begin, size_t end, int worker)
{
    pack_slice *slice = user;
    const oc_pack_job *job = slice->job;
    const oc_pack_source *source = job->source;
    const unsigned char *from = source->tensor.data;
    oc_bf16_layout layout;
    (void)worker;
    if (!oc_bf16_layout_of(source->rows, source->cols, &layout)) {
        return; /* the caller could not have allocated data */
    }
    for (size_t row = slice->row + begin; row < slice->row + end; row++) {
        size_t lane = row % OC_BF16_TILE;
        unsigned char *tile = (unsigned char *)job->data + row / OC_BF16_TILE * layout.tile_bytes;
        if (lane == 0 && source->rows - row < OC_BF16_TILE) {
            memset(tile, 0, layout.tile_bytes);
        }
        size_t first = source->first + row * source->row_step;
        if (move_row(tile, lane, from + first * sizeof(uint16_t), source->cols) != 0) {
            note_bad(slice, row);
            return;
        }
    }
}

/* ---- any to any ------------------------------------------------------------------------------ */

static void pack_range(void *user, size_t begin, size_t end, int worker)
{
    pack_slice *slice = user;
    const oc_pack_job *job = slice->job;
    const oc_pack_source *source = job->source;
    float *rows = slice->scratch + (size_t)worker * slice->scratch_step;
    for (size_t at = begin; at < end; at += PIECE_ROWS) {
        size_t row = slice->row + at;
        size_t count = end - at < PIECE_ROWS ? end - at : PIECE_ROWS;
        widen_rows(source, row, count, rows);
        if (slice->limit > 0) {
            for (size_t i = 0; i < count * source->cols; i++) {
                if (is_beyond(rows[i], slice->limit)) {
                    note_bad(slice, row + i / source->cols);
                    return; /* the matrix is lost, and no packer should see such a number */
                }
            }
        }
        oc_matrix_pack(job->format, job->data, source->rows, source->cols, row, count, rows);
    }
}

/* The sentence for the first bad weight of the row. */
static ocelli_status refuse_row(const pack_slice *slice, size_t row, ocelli_error *err)
{
    const oc_pack_job *job = slice->job;
    char label[OC_LABEL_ROOM];
    widen_rows(job->source, row, 1, slice->scratch);
    size_t col = 0;
    while (col + 1 < job->source->cols && !is_beyond(slice->scratch[col], slice->limit)) {
        col++;
    }
    double weight = slice->scratch[col];
    return oc_fail(err, OCELLI_E_FORMAT,
                   "tensor \"%s\": the weight at row %zu, column %zu is %g and cannot be held as "
                   "%s; %s",
                   oc_name_label(job->name, label), row, col, weight, oc_format_name(job->format),
                   isfinite(weight) ? "use another format" : "the file is damaged");
}

/* The least weight that a format cannot hold: half way from the largest number of f16 and of bf16
 * to what would be the next. Q8 and Q4 clamp beyond 1e38. */
static float limit_of(oc_format format)
{
    switch (format) {
    case OC_FORMAT_F32: return 0.0f;
    case OC_FORMAT_F16: return 65520.0f;
    case OC_FORMAT_BF16: return 0x1.ffp127f;
    default: return 1e38f;
    }
}

/* Gives back the pages of rows [row, row + count) of a source stored row by row. */
static void release_rows(const oc_pack_job *job, size_t row, size_t count)
{
    const oc_pack_source *source = job->source;
    if (source->col_step != 1) {
        return; /* every row is on every page: the caller gives them back at the end */
    }
    size_t first = source->first + row * source->row_step;
    size_t begin = oc_tensor_offset(&source->tensor, first);
    oc_tensor part = source->tensor;
    part.data = (const unsigned char *)source->tensor.data + begin;
    part.bytes =
        oc_tensor_offset(&source->tensor, first + (count - 1) * source->row_step + source->cols) -
        begin;
    oc_weights_release(job->weights, &part);
}

ocelli_status oc_pack_run(const oc_compute *compute, const oc_pack_job *job, ocelli_error *err)
{
    const oc_pack_source *source = job->source;
    if (source->rows == 0 || source->cols == 0) {
        return OCELLI_OK;
    }
    size_t threads = compute->pool != NULL ? (size_t)oc_pool_threads(compute->pool) : 1;
    size_t piece = source->rows < PIECE_ROWS ? source->rows : PIECE_ROWS;
    pack_slice slice = {.job = job, .limit = limit_of(job->format)};
    size_t scratch;
    if (!oc_size_mul(piece, source->cols, &slice.scratch_step) ||
        !oc_size_mul(slice.scratch_step, threads, &scratch)) {
        return oc_fail_memory(err, job->name);
    }
    slice.scratch = oc_alloc_raw(scratch, sizeof *slice.scratch);
    if (slice.scratch == NULL) {
        return oc_fail_memory(err, job->name);
    }
    atomic_init(&slice.bad_row, SIZE_MAX);
    size_t pieces = SLICE_ELEMENTS / source->cols / PIECE_ROWS;
    size_t slice_rows = (pieces > 0 ? pieces : 1) * PIECE_ROWS;
    /* At least a piece for each thread, else wide matrices would be packed by one. */
    if (slice_rows < threads * PIECE_ROWS) {
        slice_rows = threads * PIECE_ROWS;
    }
    oc_range_fn range = is_move(job) ? move_range : pack_range;
    ocelli_status status = OCELLI_OK;
    while (status == OCELLI_OK && slice.row < source->rows) {
        size_t count = source->rows - slice.row;
        count = count < slice_rows ? count : slice_rows;
        oc_pool_run(compute->pool, count, PIECE_ROWS, range, &slice);
        size_t bad = atomic_load(&slice.bad_row);
        if (bad != SIZE_MAX) {
            status = refuse_row(&slice, bad, err);
        } else {
            release_rows(job, slice.row, count);
            status = job->step(job->step_user, (uint64_t)count * source->cols, err);
        }
        slice.row += count;
    }
    oc_free(slice.scratch);
    return status;
}
