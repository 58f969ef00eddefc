/* pull_hub.h - a repository of a Hugging Face hub: its addresses, patience with it, and its
 * refusals in words.
 *
 * HF_ENDPOINT names the hub, HF_TOKEN the user. What can be cured by waiting (cut connections, 429,
 * 5xx) is tried again a few times, longer each time; what cannot is told at once.
 */
#ifndef OCELLI_TOOLS_PULL_HUB_H
#define OCELLI_TOOLS_PULL_HUB_H

#include "tools/pull_http.h"

#include <cjson/cJSON.h>

typedef struct pull_hub {
    pull_http *http;
    char *endpoint; /* without a slash at the end */
    const char *repository, *revision;
} pull_hub;

/* repository is "owner/name". Functions return an exit code and have said why unless it is
 * EXIT_DONE or EXIT_INTERRUPTED. Close in any case. */
int pull_hub_open(pull_hub *hub, const char *repository, const char *revision);
void pull_hub_close(pull_hub *hub);

/* "owner/name", of the letters that the hub allows: false for all else, so that it may become a
 * path. */
bool pull_is_repository(const char *name);
/* It begins as the address of a web page does. */
bool pull_is_address(const char *name);
/* Takes a page's address apart, in place: hub/owner/name or hub/owner/name/tree/revision. *revision
 * is NULL where it names none. False if it is neither, or another host's than the hub's. */
bool pull_address_read(char *address, const char **repository, const char **revision);
/* HF_HUB_OFFLINE asks for no network. */
bool pull_is_offline(void);

/* Addresses, for free; NULL: no memory, after a message. */
char *pull_hub_list_url(const pull_hub *hub);
char *pull_hub_file_url(const pull_hub *hub, const char *path);

/* Attempts that came to nothing, in a row. Start from zero. */
typedef struct pull_patience {
    unsigned failures;
} pull_patience;
/* True after waiting, when the request is worth another attempt; false when it is not, or no more,
 * or a signal came. */
bool pull_hub_again(pull_patience *patience, const pull_result *result);
/* Tells why result is not what was asked for and returns the exit code. what: the file's name, or
 * NULL for the list of files. */
int pull_hub_failure(const pull_hub *hub, const pull_result *result, const char *what);

/* The content of an address, at most `most` bytes, NUL-ended, for free. next may be NULL; otherwise
 * *next is the following page's address, for free, or NULL. */
int pull_hub_text(pull_hub *hub, const char *url, const char *what, size_t most, char **text,
                  size_t *length, char **next);

/* The tree of such a text, for cJSON_Delete; *tree is NULL where it is no JSON, which the caller
 * tells. Exit code: failed, after a message, where the tree would be far larger than the text is worth. */
int pull_hub_tree(const pull_hub *hub, const char *text, size_t length, const char *what,
                  cJSON **tree);

#endif
