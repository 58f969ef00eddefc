/* file.h - files as a model loader needs them: mapped read-only, or read whole. */
#ifndef OC_BASE_FILE_H
#define OC_BASE_FILE_H

#include "runtime/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A read-only, shared mapping of a whole regular file. bytes is NULL for an empty file. */
typedef struct oc_map {
    const unsigned char *bytes;
    size_t size;
    int file;  /* the open descriptor + 1; 0: none */
    bool held; /* bytes are a copy in this process's memory (oc_map_hold) */
} oc_map;

/* Which file a mapping is of: the key of the embedding-table cache. */
typedef struct oc_file_identity {
    uint64_t device, inode, size, modified_seconds, modified_nanoseconds;
} oc_file_identity;

/* Errors: OCELLI_E_IO with the path and the system's reason. Not a regular file: OCELLI_E_IO.
 * identity may be NULL. The map is the caller's; oc_map_close accepts a zero map. */
ocelli_status oc_map_open(oc_map *out, const char *path, oc_file_identity *identity,
                          ocelli_error *err);
void oc_map_close(oc_map *map);
/* To read a mapped byte that the file no longer has is the end of the process (SIGBUS). So before
 * work that reads much: OCELLI_E_IO, naming path and both sizes, when the file has become shorter
 * since it was mapped. A file that is replaced (a new one renamed over it) stays as
 * it was mapped. */
ocelli_status oc_map_check(const oc_map *map, const char *path, ocelli_error *err);
/* Copies [offset, offset + size) of the file by reading it, not through the mapping: no page of it
 * becomes this process's. OCELLI_E_IO when the file does not have these bytes any more, or the disk
 * fails; path is for the message. May be called by several threads at once. */
ocelli_status oc_map_read(const oc_map *map, const char *path, uint64_t offset, void *out,
                          size_t size, ocelli_error *err);
/* Says that the map will be read here and there (random), whole and again and again (whole: in large pages
 * where the file system has them), or that oc_map_read of a range will follow: only hints. */
void oc_map_expect_random(const oc_map *map);
void oc_map_expect_whole(const oc_map *map);
void oc_map_expect_read(const oc_map *map, uint64_t offset, size_t size);
/* Reads the whole file into memory of this process, in large pages where there are any, and puts it in the
 * mapping's place: bytes stay where they are. Before anybody else reads the map. Pages are then not given
 * back before oc_map_close. OCELLI_E_MEMORY, or as oc_map_read; the map can only be closed then. */
ocelli_status oc_map_hold(oc_map *map, const char *path, ocelli_error *err);
/* Tells the system that the pages of [begin, begin + size) of the map are not needed now. */
void oc_map_release_pages(const oc_map *map, const void *begin, size_t size);

/* Reads a regular file of at most limit bytes whole; *out is NUL-ended, free with oc_free. */
ocelli_status oc_file_read(char **out, size_t *size, const char *path, size_t limit,
                           ocelli_error *err);

/* What people have under the name of a file that they did not get, told by how it begins: "a Git
 * LFS pointer, not the file: run git lfs pull". NULL: none of these. */
const char *oc_file_impostor(const void *bytes, size_t size);

bool oc_file_exists(const char *path);
bool oc_file_is_directory(const char *path);
/* Joins with one '/'; NULL: no memory. Free with oc_free. */
char *oc_path_join(const char *directory, const char *name);

#endif
