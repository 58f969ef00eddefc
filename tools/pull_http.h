/* pull_http.h - one GET at a time over libcurl, redirects followed with care.
 *
 * The token goes to the endpoint it was given for (scheme, host and port) and nowhere else,
 * whatever a redirect says; what was begun over https stays there, and certificates are checked.
 * Proxies are libcurl's matter (HTTP_PROXY, HTTPS_PROXY, NO_PROXY). Nothing is retried here and
 * nothing is printed: the caller knows what for. */
#ifndef OCELLI_TOOLS_PULL_HTTP_H
#define OCELLI_TOOLS_PULL_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pull_http pull_http;

/* token: NULL for none. NULL after a message: the endpoint is no http or https address. */
pull_http *pull_http_open(const char *endpoint, const char *token);
void pull_http_close(pull_http *http);

/* What the answer's header says, once the answer is one with content (200, 206). */
typedef struct pull_head {
    bool is_range;   /* 206: the body begins at first */
    uint64_t first;  /* of a range */
    bool has_total;  /* total is known */
    uint64_t total;  /* bytes of the whole file, by Content-Range or Content-Length */
    bool has_length; /* length is known */
    uint64_t length; /* of this body */
} pull_head;

typedef struct pull_request {
    const char *url;
    uint64_t first; /* ask for the bytes from here on; 0: for all */
    /* Both return false to end the request. begin is called once, before any take. */
    bool (*begin)(void *user, const pull_head *head);
    bool (*take)(void *user, const void *bytes, size_t size);
    void *user;
} pull_request;

typedef enum pull_end {
    PULL_DONE,        /* 200 or 206, and the body has ended */
    PULL_STATUS,      /* an answer without what was asked for: see status */
    PULL_CUT,         /* the connection broke or fell silent */
    PULL_UNREACHABLE, /* there was no connection */
    PULL_TAKER,       /* begin or take ended it */
    PULL_REFUSED,     /* not to be trusted, or impossible: see message */
    PULL_STOPPED      /* a signal is pending */
} pull_end;

typedef struct pull_result {
    pull_end end;
    long status;       /* of the last answer; 0: none */
    long retry_after;  /* seconds that the server asks to wait; 0: not said */
    bool reached;      /* this or an earlier request had an answer */
    char message[320]; /* why, for all but PULL_DONE, PULL_STATUS and PULL_TAKER */
    char next[4096];   /* address of the next page by the header's Link; "": none */
} pull_result;

void pull_http_get(pull_http *http, const pull_request *request, pull_result *out);

/* text as one part of a path or query, for free; NULL: no memory. */
char *pull_http_escape(const char *text);

#endif
