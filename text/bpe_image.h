/* bpe_image.h - the tables of a tokenizer as one block of bytes, which is also the file
 * tokenizer.bin of a package.
 *
 * Parsing a tokenizer.json of 150 thousand tokens takes a hundred times as long as using the tables
 * it gives. So every oc_bpe stands on an image: built once from JSON, then used in place, from
 * memory or from a read-only mapping. An image from a file is not trusted: every count, offset, id
 * and the shape of the hash table are checked when it is opened, in one pass over the arrays.
 *
 * The file: the header below, then the arrays of struct oc_bpe, each at the next multiple of 64
 * bytes, in the order of the offsets that bpe_image.c lays out; integers little-endian. Nothing but the
 * counts says where they are. The same files give the same bytes; whatever changes that (the sizes of
 * tables, the hash, the order) must change OC_BPE_IMAGE_VERSION. */
#ifndef OC_TEXT_BPE_IMAGE_H
#define OC_TEXT_BPE_IMAGE_H

#include "text/bpe_tables.h"

enum { OC_BPE_IMAGE_VERSION = 1, OC_BPE_IMAGE_ALIGNMENT = 64 };

/* 64 bytes. */
typedef struct oc_bpe_image_header {
    char magic[8];       /* "oc-bpe\0\0" */
    uint32_t byte_order; /* 0x01020304, read as what it is only by a little-endian machine */
    uint32_t version;
    uint64_t source_high, source_low; /* the hash of the files it was made from */
    uint64_t bytes_size;
    uint64_t merge_slots;
    uint32_t size;
    uint32_t added_count;
    uint64_t reserved; /* 0 */
} oc_bpe_image_header;

/* Makes out from tables whose arrays stand anywhere (they are copied; what is not in the image is not
 * looked at). file: for messages. */
ocelli_status oc_bpe_image_build(oc_bpe **out, const oc_bpe *tables, const char *file,
                                 ocelli_error *err);

/* Uses an image in place: bytes [size], aligned to 8, must outlive *out. name is for messages.
 * Refusals as those of oc_bpe_open_image. */
ocelli_status oc_bpe_image_use(oc_bpe **out, const char *name, const void *bytes, size_t size,
                               size_t id_limit, ocelli_error *err);

/* The order of added tokens: by bytes, a prefix before what it begins. <0, 0, >0. */
int oc_bpe_compare_bytes(const char *left, size_t left_length, const char *right,
                         size_t right_length);

#endif
