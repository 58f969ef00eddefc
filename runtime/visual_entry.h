/* visual_entry.h - the header of a cache entry on disk, and the names of entries. */
#ifndef OC_VISUAL_ENTRY_H
#define OC_VISUAL_ENTRY_H

#include "runtime/visual_key.h"

enum { OC_VISUAL_ENTRY_VERSION = 1, OC_VISUAL_ENTRY_NAME = 96 };

/* Native words: the key holds what machine it is, and order tells one of another byte order. */
typedef struct oc_visual_entry {
    char magic[8];  /* "ocellivr" */
    uint64_t order; /* 0x0102030405060708 */
    uint64_t version;
    oc_visual_key key;
    uint64_t bytes; /* of the rows behind the header */
    oc_hash rows;   /* of those bytes */
    oc_hash itself; /* of the header before this */
} oc_visual_entry;

/* The header of rows [bytes]. */
void oc_visual_entry_make(oc_visual_entry *out, const oc_visual_key *key, const void *rows,
                          size_t bytes);
/* Whether the header is sound and says key and bytes; *why is one word about what is wrong. */
bool oc_visual_entry_check(const oc_visual_entry *entry, const oc_visual_key *key, size_t bytes,
                           const char **why);
bool oc_visual_entry_check_rows(const oc_visual_entry *entry, const void *rows, size_t bytes);

/* "<32 hex digits>.rows" */
void oc_visual_entry_name(char name[OC_VISUAL_ENTRY_NAME], const oc_visual_key *key);
/* "<32 hex digits>.<process>.<number>.part": an entry while it is written. */
void oc_visual_entry_part_name(char name[OC_VISUAL_ENTRY_NAME], const oc_visual_key *key,
                               unsigned number);
/* Whether name is one of these two; *part: of the second. */
bool oc_visual_entry_is_name(const char *name, bool *part);

#endif
