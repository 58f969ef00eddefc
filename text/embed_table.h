/* embed_table.h - the input side of the tied tensor: rows of float32 gathered by token id from a
 * read-only mapping, widened exactly from what the file holds (F32, BF16, F16 or blocks).
 *
 * One mapping serves every model of the process: tables are kept in a locked, reference-counted
 * list keyed by the file's identity, the offset, the dtype and the shape. That list is the one
 * piece of process-wide state in the library; without it two models opened on the same files could
 * not know of each other. Between processes the page cache shares the same pages.
 *
 * A table within its budget is read through the mapping, and what has been read stays resident. The
 * rows of a larger one are read from the file, one by one, and nothing of it is. That is not only
 * less memory: a fault maps what surrounds the row, as much of the page cache's large folio as fits
 * a page table (2 MiB, on Linux since 6.11, where a file was written or read in large pieces), so
 * that random rows soon make the whole table resident, and giving pages back to hold a budget makes
 * a row cost a hundred times its read. */
#ifndef OC_TEXT_EMBED_TABLE_H
#define OC_TEXT_EMBED_TABLE_H

#include "runtime/weights/tensor.h"

typedef struct oc_embed_table oc_embed_table;

/* Maps path read-only, or takes a table that is already mapped: rows [vocab, hidden] of dtype begin
 * at byte offset. exact_file: the table is the whole file (embed_tokens.bin; offset 0), whose size
 * must be vocab * hidden * size of dtype to the byte. budget: bytes of it that may be resident in
 * this process; of several holders' budgets the least one holds, from then on. OCELLI_E_IO;
 * OCELLI_E_FORMAT when the file is too short or not of the exact size (both sizes are named);
 * OCELLI_E_ARGUMENT for a dtype that is not a weight's or an empty shape. May be called from any
 * thread. */
ocelli_status oc_embed_table_acquire(oc_embed_table **out, const char *path, uint64_t offset,
                                     oc_dtype dtype, size_t vocab, size_t hidden, bool exact_file,
                                     uint64_t budget, ocelli_error *err);
/* The last holder's release unmaps. Accepts NULL. May be called from any thread. */
void oc_embed_table_release(oc_embed_table *table);

/* out [count, hidden], the rows of ids [count] in order. An id outside [0, vocab) is
 * OCELLI_E_ARGUMENT; the message names the id, its index and the rows there are, and out is
 * untouched. OCELLI_E_IO as oc_embed_table_check. May be called by several threads at once. */
ocelli_status oc_embed_table_gather(const oc_embed_table *table, const int32_t *ids, size_t count,
                                    float *out, ocelli_error *err);

/* One row, row < vocab, into out [hidden], by a read of the file, not through the mapping: for many
 * scattered rows, each needed once. Neither a page fault each (with its neighbours mapped: ten
 * times the time of the read) nor memory that stays with the process. OCELLI_E_IO: the file became
 * shorter, or the disk fails. May be called by several threads at once. */
ocelli_status oc_embed_table_read(const oc_embed_table *table, size_t row, float *out,
                                  ocelli_error *err);
/* Says that oc_embed_table_read of row, row < vocab, will follow: rows that are still on the disk
 * are fetched side by side meanwhile. */
void oc_embed_table_expect(const oc_embed_table *table, size_t row);

/* OCELLI_E_IO when the file has become shorter since it was opened: its rows cannot be read any
 * more. */
ocelli_status oc_embed_table_check(const oc_embed_table *table, ocelli_error *err);

size_t oc_embed_table_vocab(const oc_embed_table *table);
size_t oc_embed_table_hidden(const oc_embed_table *table);
oc_dtype oc_embed_table_dtype(const oc_embed_table *table);
/* Bytes of the rows in the file. */
uint64_t oc_embed_table_bytes(const oc_embed_table *table);
/* The most bytes of it that gathering makes resident: all, or none. */
uint64_t oc_embed_table_resident_most(const oc_embed_table *table);
/* The mapped rows, [vocab, hidden] of dtype; may be unaligned. Reading them counts against no
 * budget. */
const void *oc_embed_table_data(const oc_embed_table *table);
/* How many holders share it. */
size_t oc_embed_table_shared(const oc_embed_table *table);

#endif
