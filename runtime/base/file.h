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
/* Tells the system that the pages of [begin, begin + size) of the map are not needed now. */
void oc_map_release_pages(const oc_map *map, const void *begin, size_t size);

/* Reads a regular file of at most limit bytes whole; *out is NUL-ended, free with oc_free. */
ocelli_status oc_file_read(char **out, size_t *size, const char *path, size_t limit,
                           ocelli_error *err);

bool oc_file_exists(const char *path);
bool oc_file_is_directory(const char *path);
/* Joins with one '/'; NULL: no memory. Free with oc_free. */
char *oc_path_join(const char *directory, const char *name);

#endif
