/* pull_http.c - see pull_http.h.
 *
 * libcurl's own following of redirects is off: which header goes to which host is decided here, for
 * every hop alike and whatever the library's version does.
 */
#define _POSIX_C_SOURCE 200809L

#include "tools/pull_http.h"
#include "tools/interrupt.h"
#include "tools/report.h"
#include "tools/text_bytes.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <ocelli.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_REDIRECTS 10
#define CONNECT_SECONDS 30L
#define SILENT_SECONDS 30L /* without a byte: the connection is given up */
#define LONGEST_ADDRESS ((size_t)8192)
#define MOST_IGNORED                                                                               \
    ((size_t)65536) /* of a redirect's or an error's page: then the connection ends */

struct pull_http {
    CURL *curl;
    char *origin;               /* "https://host:443" of the endpoint */
    struct curl_slist *headers; /* with the token; NULL: no token */
    bool secure;                /* the endpoint is https, so all must be */
    bool reached;
};

/* One hop's state while libcurl works. */
typedef struct hop {
    pull_http *http;
    const pull_request *request;
    pull_result *out;
    const char *url;
    pull_head head;
    bool begun, ended_by_taker;
    size_t ignored; /* bytes of a page that nobody reads */
} hop;

/* ---- addresses ----------------------------------------------------------------------------- */

/* "scheme://host:port" of an address, for free; NULL if it is none of http or https, or has a user
 * in it. base: what a relative address is relative to; NULL: it must not be. *whole is the address
 * made absolute, for free; whole may be NULL. */
static char *origin_of(const char *url, const char *base, char **whole)
{
    char *scheme = NULL, *host = NULL, *port = NULL, *text = NULL, *origin = NULL;
    CURLU *parts = strlen(url) <= LONGEST_ADDRESS ? curl_url() : NULL;
    bool good = parts != NULL;
    good = good && (base == NULL || curl_url_set(parts, CURLUPART_URL, base, 0) == CURLUE_OK);
    good = good && curl_url_set(parts, CURLUPART_URL, url, CURLU_DISALLOW_USER) == CURLUE_OK;
    good = good && curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK;
    good = good && curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK;
    good = good && curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK;
    good = good && curl_url_get(parts, CURLUPART_URL, &text, 0) == CURLUE_OK;
    good = good && (strcasecmp(scheme, "http") == 0 || strcasecmp(scheme, "https") == 0);
    if (good) {
        size_t size = strlen(scheme) + strlen(host) + strlen(port) + 5;
        origin = malloc(size);
        if (origin != NULL) {
            snprintf(origin, size, "%s://%s:%s", scheme, host, port);
        }
        if (origin != NULL && whole != NULL) {
            *whole = text_copy(text);
        }
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_free(text);
    curl_url_cleanup(parts);
    return origin;
}

char *pull_http_escape(const char *text)
{
    char *escaped = curl_easy_escape(NULL, text, 0);
    char *copy = escaped != NULL ? text_copy(escaped) : NULL;
    curl_free(escaped);
    return copy;
}

/* ---- the object ---------------------------------------------------------------------------- */

static bool add_token(pull_http *http, const char *token)
{
    size_t size = strlen(token) + sizeof "Authorization: Bearer ";
    char *header = malloc(size);
    if (header != NULL) {
        snprintf(header, size, "Authorization: Bearer %s", token);
        http->headers = curl_slist_append(NULL, header);
    }
    free(header);
    return http->headers != NULL;
}

pull_http *pull_http_open(const char *endpoint, const char *token)
{
    pull_http *http = calloc(1, sizeof *http);
    if (http == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        free(http);
        report_error("no memory");
        return NULL;
    }
    http->curl = curl_easy_init();
    http->origin = origin_of(endpoint, NULL, NULL);
    if (http->origin == NULL) {
        report_error("HF_ENDPOINT: '%.200s' is no address such as https://huggingface.co",
                     endpoint);
    } else if (http->curl == NULL || (token != NULL && !add_token(http, token))) {
        report_error("no memory");
    } else {
        http->secure = strncasecmp(http->origin, "https:", 6) == 0;
        return http;
    }
    pull_http_close(http);
    return NULL;
}

void pull_http_close(pull_http *http)
{
    if (http == NULL) {
        return;
    }
    curl_slist_free_all(http->headers);
    if (http->curl != NULL) {
        curl_easy_cleanup(http->curl);
    }
    free(http->origin);
    free(http);
    curl_global_cleanup();
}

/* ---- the answer's header ------------------------------------------------------------------- */

/* Digits at *text, which moves past them. */
static bool read_number(const char **text, uint64_t *out)
{
    uint64_t value = 0;
    const char *at = *text;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (value > (UINT64_MAX - 9) / 10) {
            return false;
        }
        value = value * 10 + (uint64_t)(*at - '0');
    }
    bool some = at > *text;
    *text = at;
    *out = value;
    return some;
}

/* "bytes 100-199/1000", the total possibly "*". */
static void read_content_range(const char *value, pull_head *head)
{
    uint64_t last = 0, first = 0, total = 0;
    if (strncasecmp(value, "bytes ", 6) != 0) {
        return;
    }
    value += 6;
    if (!read_number(&value, &first) || *value != '-') {
        return;
    }
    value++;
    if (!read_number(&value, &last) || last < first || *value != '/') {
        return;
    }
    value++;
    head->is_range = true;
    head->first = first;
    head->has_total = read_number(&value, &total);
    head->total = total;
}

/* <https://...>; rel="next", possibly among others with commas between. */
static void read_link(const char *value, hop *h)
{
    const char *open;
    while ((open = strchr(value, '<')) != NULL) {
        const char *close = strchr(open, '>');
        if (close == NULL) {
            return;
        }
        const char *parameters = close + 1;
        size_t length = strcspn(parameters, "<");
        bool is_next = false;
        for (size_t i = 0; i + 8 <= length; i++) {
            is_next = is_next || strncasecmp(parameters + i, "rel=next", 8) == 0 ||
                      strncasecmp(parameters + i, "rel=\"next\"", 10) == 0;
        }
        if (is_next) {
            snprintf(h->out->next, sizeof h->out->next, "%.*s", (int)(close - open - 1), open + 1);
            return;
        }
        value = parameters;
    }
}

static size_t on_header(char *bytes, size_t size, size_t count, void *user)
{
    hop *h = user;
    size_t length = size * count;
    char line[LONGEST_ADDRESS];
    if (length >= sizeof line) {
        return length; /* none that matters here is so long */
    }
    memcpy(line, bytes, length);
    line[length] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    if (strncasecmp(line, "HTTP/", 5) == 0) { /* another answer: after a 100, or a proxy's */
        memset(&h->head, 0, sizeof h->head);
        h->out->next[0] = '\0';
        return length;
    }
    char *value = strchr(line, ':');
    if (value == NULL) {
        return length;
    }
    *value++ = '\0';
    value += strspn(value, " \t");
    if (strcasecmp(line, "content-range") == 0) {
        read_content_range(value, &h->head);
    } else if (strcasecmp(line, "content-length") == 0) {
        const char *at = value;
        h->head.has_length = read_number(&at, &h->head.length);
    } else if (strcasecmp(line, "link") == 0) {
        read_link(value, h);
    }
    return length;
}

/* ---- one hop ------------------------------------------------------------------------------- */

static bool begin(hop *h)
{
    if (h->begun) {
        return true;
    }
    h->begun = true;
    if (h->out->status == 206 && !h->head.is_range) {
        snprintf(h->out->message, sizeof h->out->message, "a part came without Content-Range");
        return false;
    }
    if (h->out->status == 200) {
        h->head.is_range = false;
        h->head.first = 0;
        h->head.has_total = h->head.has_length;
        h->head.total = h->head.length;
    }
    h->ended_by_taker = !h->request->begin(h->request->user, &h->head);
    return !h->ended_by_taker;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user)
{
    hop *h = user;
    size_t length = size * count;
    if (h->out->status == 0) {
        curl_easy_getinfo(h->http->curl, CURLINFO_RESPONSE_CODE, &h->out->status);
    }
    if (h->out->status != 200 && h->out->status != 206) {
        h->ignored += length;
        return h->ignored <= MOST_IGNORED ? length : 0;
    }
    if (!begin(h)) {
        return 0;
    }
    h->ended_by_taker = !h->request->take(h->request->user, bytes, length);
    return h->ended_by_taker ? 0 : length;
}

static int on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)user;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return interrupt_pending();
}

static void set_options(hop *h, bool with_token, const char *range, char *error)
{
    CURL *curl = h->http->curl;
    char agent[64];
    snprintf(agent, sizeof agent, "ocelli/%s", ocelli_version());
    curl_easy_reset(curl); /* connections stay */
    curl_easy_setopt(curl, CURLOPT_URL, h->url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, SILENT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, agent); /* copied, as all strings are */
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, h);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, h);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    if (with_token) {
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, h->http->headers);
        /* A proxy in the clear sees what is meant for the host, and no more. */
        curl_easy_setopt(curl, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
    }
    /* Authorities beside the system's own, as the curl program takes them. */
    const char *bundle = getenv("CURL_CA_BUNDLE");
    bundle = bundle != NULL && *bundle != '\0' ? bundle : getenv("SSL_CERT_FILE");
    if (bundle != NULL && *bundle != '\0') {
        curl_easy_setopt(curl, CURLOPT_CAINFO, bundle);
    }
    /* libcurl reads http_proxy in small letters only, for the sake of programs that a web server
     * runs; this is none. NO_PROXY it reads either way. */
    const char *proxy = getenv("HTTP_PROXY");
    if (proxy != NULL && getenv("http_proxy") == NULL && strncasecmp(h->url, "http:", 5) == 0) {
        curl_easy_setopt(curl, CURLOPT_PROXY, proxy);
    }
    if (*range != '\0') {
        curl_easy_setopt(curl, CURLOPT_RANGE, range);
    }
}

/* What libcurl's code means for the caller. */
static pull_end end_of(CURLcode code, const hop *h)
{
    switch (code) {
    case CURLE_OK: return h->out->status == 200 || h->out->status == 206 ? PULL_DONE : PULL_STATUS;
    case CURLE_ABORTED_BY_CALLBACK: return PULL_STOPPED;
    case CURLE_WRITE_ERROR:
        if (h->ended_by_taker) {
            return PULL_TAKER;
        }
        return h->out->message[0] != '\0' ? PULL_REFUSED : PULL_STATUS;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT: return PULL_UNREACHABLE;
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return PULL_CUT;
    default: return PULL_REFUSED;
    }
}

/* Sets *next, for free, if the answer leads elsewhere. */
static void run_hop(pull_http *http, const pull_request *request, const char *url, pull_result *out,
                    char **next)
{
    hop h = {.http = http, .request = request, .out = out, .url = url};
    char error[CURL_ERROR_SIZE] = "";
    char range[32] = "";
    char *origin = origin_of(url, NULL, NULL);
    if (origin == NULL || (http->secure && strncasecmp(origin, "https:", 6) != 0)) {
        out->end = PULL_REFUSED;
        snprintf(out->message, sizeof out->message, "the server leads to '%.200s'%s", url,
                 origin == NULL ? ", which is no http address" : ", away from https");
        free(origin);
        return;
    }
    if (request->first > 0) {
        snprintf(range, sizeof range, "%" PRIu64 "-", request->first);
    }
    bool with_token = http->headers != NULL && strcasecmp(origin, http->origin) == 0;
    free(origin);
    set_options(&h, with_token, range, error);
    out->status = 0;
    CURLcode code = curl_easy_perform(http->curl);
    curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &out->status);
    http->reached = http->reached || out->status != 0;
    if (code == CURLE_OK && (out->status == 200 || out->status == 206) && !begin(&h)) {
        code = CURLE_WRITE_ERROR; /* of a body without a byte */
    }
    out->end = end_of(code, &h);
    if (out->message[0] == '\0' && code != CURLE_OK) {
        snprintf(out->message, sizeof out->message, "%s",
                 error[0] != '\0' ? error : curl_easy_strerror(code));
    }
    curl_off_t wait = 0;
    if (curl_easy_getinfo(http->curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0) {
        out->retry_after = wait < 3600 ? (long)wait : 3600;
    }
    char *where = NULL;
    if (out->end == PULL_STATUS && out->status >= 300 && out->status < 400) {
        curl_easy_getinfo(http->curl, CURLINFO_REDIRECT_URL, &where);
        *next = where != NULL ? text_copy(where) : NULL;
    }
}

void pull_http_get(pull_http *http, const pull_request *request, pull_result *out)
{
    memset(out, 0, sizeof *out);
    char *url = text_copy(request->url);
    char *next = NULL;
    for (int hops = 0; url != NULL; hops++) {
        run_hop(http, request, url, out, &next);
        if (out->next[0] != '\0') { /* relative to the page that it stands on */
            char *whole = NULL;
            free(origin_of(out->next, url, &whole));
            if (whole != NULL) { /* else it stays as it is, to be refused */
                snprintf(out->next, sizeof out->next, "%s", whole);
            }
            free(whole);
        }
        free(url);
        url = next;
        next = NULL;
        if (url != NULL && hops == MOST_REDIRECTS) {
            out->end = PULL_REFUSED;
            snprintf(out->message, sizeof out->message, "redirected more than %d times",
                     MOST_REDIRECTS);
            free(url);
            url = NULL;
        }
    }
    if (interrupt_pending()) {
        out->end = PULL_STOPPED;
    }
    out->reached = http->reached;
}
