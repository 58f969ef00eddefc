/* pull_list.h - the list of a repository's files, read from the hub's pages and not believed
 * blindly.
 *
 * A page is a JSON array of {"type": "file", "path", "size", "oid", "lfs": {"oid", "size"}}; the
 * header Link leads to the next. Names become paths on this machine, so a list with a name that
 * could leave its folder is refused as a whole. */
#ifndef OCELLI_TOOLS_PULL_LIST_H
#define OCELLI_TOOLS_PULL_LIST_H

#include "tools/pull_digest.h"
#include "tools/pull_hub.h"

typedef struct remote_file {
    char *path; /* relative, in its own folder, UTF-8 */
    uint64_t bytes;
    pull_hash kind;
    char hash[DOWNLOAD_HASH_SIZE]; /* lower case */
    bool wanted;
} remote_file;

typedef struct remote_list {
    remote_file *files; /* [count], by path once all are read, owned */
    size_t count, room;
} remote_list;

/* Reads all pages. Start from zeros. Exit code, after a message unless interrupted; free in any
 * case. */
int pull_list_read(pull_hub *hub, remote_list *out);
void pull_list_free(remote_list *list);

/* NULL if it is not there. */
remote_file *pull_list_find(const remote_list *list, const char *path);

#endif
