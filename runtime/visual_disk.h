/* visual_disk.h - visual rows in a directory: the part of the cache that outlives the process.
 *
 * An entry is a file: a header that says whose rows they are, and the rows. It is written under
 * another name and renamed when it is whole, so a process that is killed leaves nothing that is
 * believed; nobody waits for anybody. What is read is checked whole, and its sizes are those that the
 * caller expects, never those that a file claims. Only files that are named as entries are ever
 * counted or removed. May be used by several threads at once. */
#ifndef OC_VISUAL_DISK_H
#define OC_VISUAL_DISK_H

#include "runtime/visual_key.h"

typedef struct oc_visual_disk {
    char *path;        /* as the caller named it; NULL: there is none */
    int folder;        /* its descriptor */
    uint64_t most;     /* bytes of all entries */
    unsigned mode;     /* of new entries */
    atomic_uint count; /* of names made */
    atomic_bool told;  /* of a failing disk */
    oc_log log;
} oc_visual_disk;

/* Makes the directory if it is not there. Errors as ocelli_visual_cache_open. */
ocelli_status oc_visual_disk_open(oc_visual_disk *out, const char *path, uint64_t most,
                                  const oc_log *log, ocelli_error *err);
/* Accepts a zero one. */
void oc_visual_disk_close(oc_visual_disk *disk);

/* The rows of key, which is then used last; NULL: there are none, or they were not believed
 * (*damaged), or there is no memory. */
oc_visual_rows *oc_visual_disk_read(oc_visual_disk *disk, const oc_visual_key *key, bool *damaged);
/* Removes what was longest unused until the rows fit, then writes them. False: they were not
 * written, which is told once and is no error: without them the tower makes them again. */
bool oc_visual_disk_write(oc_visual_disk *disk, const oc_visual_key *key,
                          const oc_visual_rows *rows);

#endif
