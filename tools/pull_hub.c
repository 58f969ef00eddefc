/* pull_hub.c - see pull_hub.h. */
#define _POSIX_C_SOURCE 200809L

#include "tools/pull_hub.h"
#include "tools/cli_options.h"
#include "tools/interrupt.h"
#include "tools/progress.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define PUBLIC_HUB "https://huggingface.co"

/* Waits of 0.5, 1, 2, 4, 8 seconds, or what the server asks for up to a minute. */
#define MOST_FAILURES 5
#define FIRST_WAIT 0.5
#define LONGEST_WAIT 60

/* A value of two bytes becomes some 80 of the tree; the index of 235B has 40000. */
#define MOST_VALUES ((size_t)1000000)

bool pull_is_repository(const char *name)
{
    const char *slash = strchr(name, '/');
    if (slash == NULL || slash == name || slash[1] == '\0' || strchr(slash + 1, '/') != NULL ||
        strlen(name) > 200) {
        return false;
    }
    for (const char *at = name; *at != '\0'; at++) {
        bool begins = at == name || at == slash + 1;
        if (at != slash && !isalnum((unsigned char)*at) && *at != '_' &&
            (begins || (*at != '-' && *at != '.'))) {
            return false;
        }
    }
    return true;
}

/* Without a slash at the end; NULL: no memory. */
static char *endpoint_of_environment(void)
{
    const char *named = getenv("HF_ENDPOINT");
    char *endpoint = text_copy(named != NULL && *named != '\0' ? named : PUBLIC_HUB);
    for (size_t n = endpoint != NULL ? strlen(endpoint) : 0; n > 0 && endpoint[n - 1] == '/'; n--) {
        endpoint[n - 1] = '\0';
    }
    return endpoint;
}

bool pull_is_address(const char *name)
{
    return strncasecmp(name, "https://", 8) == 0 || strncasecmp(name, "http://", 7) == 0;
}

bool pull_address_read(char *address, const char **repository, const char **revision)
{
    char *endpoint = endpoint_of_environment();
    size_t length = endpoint != NULL ? strlen(endpoint) : 0;
    bool ours = length > 0 && strncasecmp(address, endpoint, length) == 0 && address[length] == '/';
    free(endpoint);
    *repository = *revision = NULL;
    if (!ours) {
        return false;
    }
    char *name = address + length + 1;
    size_t end = strlen(name);
    while (end > 0 && name[end - 1] == '/') {
        name[--end] = '\0';
    }
    char *tree = strstr(name, "/tree/");
    if (tree != NULL) {
        *tree = '\0';
        *revision = tree + strlen("/tree/");
        if (**revision == '\0' || (*revision)[strcspn(*revision, "/%?#")] != '\0') {
            return false;
        }
    }
    *repository = name;
    return pull_is_repository(name);
}

bool pull_is_offline(void)
{
    static const char *const words[] = {"1", "on", "yes", "true"};
    const char *value = getenv("HF_HUB_OFFLINE");
    for (size_t i = 0; value != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(value, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The token without the spaces and newlines around it, in place; NULL: none.
 * False after a message. */
static bool clean_token(char *token, char **out)
{
    size_t length = strlen(token);
    while (length > 0 && isspace((unsigned char)token[length - 1])) {
        token[--length] = '\0';
    }
    token += strspn(token, " \t\r\n");
    *out = *token != '\0' ? token : NULL;
    for (const char *at = token; *at != '\0'; at++) {
        if (!isgraph((unsigned char)*at)) { /* it would end the header and begin another */
            report_error("HF_TOKEN holds characters that no token has");
            return false;
        }
    }
    return true;
}

int pull_hub_open(pull_hub *hub, const char *repository, const char *revision)
{
    const char *named = getenv("HF_TOKEN");
    char *token = NULL;
    *hub = (pull_hub){NULL, NULL, repository, revision};
    hub->endpoint = endpoint_of_environment();
    char *copy = text_copy(named != NULL ? named : "");
    if (hub->endpoint == NULL || copy == NULL) {
        report_error("no memory");
    } else if (clean_token(copy, &token)) {
        hub->http = pull_http_open(hub->endpoint, token);
    }
    free(copy);
    return hub->http != NULL ? EXIT_DONE : EXIT_FAILED;
}

void pull_hub_close(pull_hub *hub)
{
    pull_http_close(hub->http);
    free(hub->endpoint);
    hub->http = NULL;
    hub->endpoint = NULL;
}

/* ---- addresses ----------------------------------------------------------------------------- */

char *pull_hub_list_url(const pull_hub *hub)
{
    char *revision = pull_http_escape(hub->revision);
    size_t size = revision != NULL
                      ? strlen(hub->endpoint) + strlen(hub->repository) + strlen(revision) +
                            sizeof "/api/models//tree/?recursive=true"
                      : 0;
    char *url = size > 0 ? malloc(size) : NULL;
    if (url != NULL) {
        snprintf(url, size, "%s/api/models/%s/tree/%s?recursive=true", hub->endpoint,
                 hub->repository, revision);
    } else {
        report_error("no memory");
    }
    free(revision);
    return url;
}

/* path with each of its parts escaped, for free. */
static char *escape_path(const char *path)
{
    char *escaped = pull_http_escape(path);
    char *to = escaped;
    for (const char *from = escaped; from != NULL && *from != '\0'; to++) {
        bool is_slash = strncasecmp(from, "%2F", 3) == 0;
        *to = is_slash ? '/' : *from;
        from += is_slash ? 3 : 1;
    }
    if (to != NULL) {
        *to = '\0';
    }
    return escaped;
}

char *pull_hub_file_url(const pull_hub *hub, const char *path)
{
    char *revision = pull_http_escape(hub->revision);
    char *name = escape_path(path);
    char *url = NULL;
    if (revision != NULL && name != NULL) {
        size_t size = strlen(hub->endpoint) + strlen(hub->repository) + strlen(revision) +
                      strlen(name) + sizeof "//resolve//";
        url = malloc(size);
        if (url != NULL) {
            snprintf(url, size, "%s/%s/resolve/%s/%s", hub->endpoint, hub->repository, revision,
                     name);
        }
    }
    if (url == NULL) {
        report_error("no memory");
    }
    free(revision);
    free(name);
    return url;
}

/* ---- patience ------------------------------------------------------------------------------ */

static bool is_curable(const pull_result *result)
{
    switch (result->end) {
    case PULL_CUT: return true;
    case PULL_UNREACHABLE: return result->reached; /* else there is no network to wait for */
    case PULL_STATUS:
        return result->status == 408 || result->status == 429 ||
               (result->status >= 500 && result->status != 501);
    default: return false;
    }
}

/* False as soon as a signal is pending. */
static bool wait_seconds(double seconds)
{
    double end = clock_seconds() + seconds;
    while (!interrupt_pending() && clock_seconds() < end) {
        const struct timespec slice = {0, 50000000};
        nanosleep(&slice, NULL);
    }
    return !interrupt_pending();
}

bool pull_hub_again(pull_patience *patience, const pull_result *result)
{
    if (!is_curable(result) || patience->failures >= MOST_FAILURES) {
        return false;
    }
    double wait = FIRST_WAIT * (double)(1u << patience->failures);
    if ((double)result->retry_after > wait) {
        wait = result->retry_after < LONGEST_WAIT ? (double)result->retry_after : LONGEST_WAIT;
    }
    patience->failures++;
    if (result->end == PULL_STATUS) {
        report_note("the server answers %ld; trying again in %.1f s", result->status, wait);
    } else {
        report_note("%s; trying again in %.1f s", result->message, wait);
    }
    return wait_seconds(wait);
}

int pull_hub_failure(const pull_hub *hub, const pull_result *result, const char *what)
{
    const char *file = what != NULL ? what : "its list of files";
    if (result->end == PULL_STOPPED) {
        return EXIT_INTERRUPTED;
    }
    if (result->end == PULL_UNREACHABLE) {
        report_error("cannot reach %s: %s%s", hub->endpoint, result->message,
                     result->reached ? "" : "; is there a network (HTTPS_PROXY, HF_ENDPOINT)?");
    } else if (result->end != PULL_STATUS) {
        report_error("%s: cannot get %s: %s", hub->repository, file, result->message);
    } else if (result->status == 401) {
        report_error(
            "%s: %s answers 401: it needs a token, or there is no such repository; put one "
            "from %s/settings/tokens into HF_TOKEN",
            hub->repository, hub->endpoint, hub->endpoint);
    } else if (result->status == 403) {
        report_error(
            "%s: %s answers 403: the token of HF_TOKEN may not read it; accept the terms at "
            "%s/%s with its account",
            hub->repository, hub->endpoint, hub->endpoint, hub->repository);
    } else if (result->status == 404 && what == NULL) {
        report_error("%s has no repository '%s', or it has no revision '%s'", hub->endpoint,
                     hub->repository, hub->revision);
    } else {
        report_error("%s: cannot get %s: the server answers %ld", hub->repository, file,
                     result->status);
    }
    return EXIT_FAILED;
}

/* ---- texts --------------------------------------------------------------------------------- */

typedef struct collected {
    char *text; /* [room] */
    size_t used, room, most;
    bool too_large;
} collected;

static bool collect_begin(void *user, const pull_head *head)
{
    collected *c = user;
    c->used = 0;
    c->too_large = head->is_range || (head->has_total && head->total > c->most);
    return !c->too_large;
}

static bool collect(void *user, const void *bytes, size_t size)
{
    collected *c = user;
    if (size > c->most - c->used) {
        c->too_large = true;
        return false;
    }
    if (c->room - c->used < size + 1) {
        size_t room = 2 * (c->used + size) + 1;
        char *larger = realloc(c->text, room);
        if (larger == NULL) {
            return false;
        }
        c->text = larger;
        c->room = room;
    }
    memcpy(c->text + c->used, bytes, size);
    c->used += size;
    c->text[c->used] = '\0';
    return true;
}

/* What the tree may have of values at most. The text bounds them from above: each but the first
 * follows a comma or an opening bracket. */
static size_t count_values(const char *text, size_t length)
{
    size_t count = 1;
    for (size_t i = 0; i < length; i++) {
        count += text[i] == ',' || text[i] == '[' || text[i] == '{';
    }
    return count;
}

int pull_hub_tree(const pull_hub *hub, const char *text, size_t length, const char *what,
                  cJSON **tree)
{
    *tree = NULL;
    if (count_values(text, length) > MOST_VALUES) {
        report_error("%s: %s has more than %zu values", hub->repository,
                     what != NULL ? what : "the list of files", MOST_VALUES);
        return EXIT_FAILED;
    }
    *tree = cJSON_ParseWithLength(text, length);
    return EXIT_DONE;
}

int pull_hub_text(pull_hub *hub, const char *url, const char *what, size_t most, char **text,
                  size_t *length, char **next)
{
    collected c = {.most = most};
    pull_patience patience = {0};
    pull_result result;
    const pull_request request = {.url = url, .begin = collect_begin, .take = collect, .user = &c};
    int code = EXIT_DONE;
    *text = NULL;
    *length = 0;
    do {
        pull_http_get(hub->http, &request, &result);
    } while (result.end != PULL_DONE && pull_hub_again(&patience, &result));
    if (result.end == PULL_TAKER) {
        report_error("%s: %s is larger than %zu bytes", hub->repository,
                     what != NULL ? what : "the list of files", most);
        code = EXIT_FAILED;
    } else if (result.end != PULL_DONE || interrupt_pending()) {
        code = interrupt_pending() ? EXIT_INTERRUPTED : pull_hub_failure(hub, &result, what);
    }
    if (code == EXIT_DONE && c.text == NULL) {
        c.text = text_copy("");
    }
    if (code == EXIT_DONE && c.text != NULL && next != NULL) {
        *next = result.next[0] != '\0' ? text_copy(result.next) : NULL;
    }
    if (code != EXIT_DONE || c.text == NULL) {
        free(c.text);
        return code == EXIT_DONE ? EXIT_FAILED : code;
    }
    *text = c.text;
    *length = c.used;
    return EXIT_DONE;
}
