#include "server/egress.h"
#include "server/address.h"
#include "server/buf.h"
#include "server/limits.h"
#include "server/mem.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECT_MS 5000 /* api.md: connect 5 s, 15 s in all */
#define TOTAL_MS 15000

struct egress { /* read-only after egress_open, but `aborted` */
    struct address_network *networks;
    size_t network_count;
    size_t network_capacity;
    char **hosts;
    size_t host_count;
    size_t host_capacity;
    long connect_ms;
    long total_ms;
    atomic_bool aborted;
};

/* One transfer; the callbacks get it. */
struct transfer {
    struct egress *egress;
    bool host_allowed;   /* the URL's host stands in the allow-list */
    int allowed_count;   /* addresses that were tried */
    const char *refused; /* why the last address was not */
    struct buf body;
    bool cut;         /* the answer went beyond a limit and was stopped */
    int header_count; /* lines of the current answer */
    bool has_retry_after;
};

/* --- the allow-list ----------------------------------------------------------------------------
 */

static bool is_host_name(const char *text)
{
    size_t length = strlen(text);
    for (const char *at = text; *at; at++)
        if (!strchr("-._", *at) && !(*at >= '0' && *at <= '9') &&
            !((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z'))
            return false;
    return length > 0 && length <= 253 && text[0] != '.' && text[0] != '-';
}

static int add_item(struct egress *egress, const char *item, struct err *err)
{
    struct address_network network;
    if (address_parse_network(item, &network)) {
        egress->networks = mem_grow(egress->networks, &egress->network_capacity,
                                    egress->network_count + 1, sizeof *egress->networks);
        egress->networks[egress->network_count++] = network;
        return 0;
    }
    /* "10.0.0.1/8" and "300.1.1.1" are mistyped networks, not hosts */
    if (!is_host_name(item) || item[strspn(item, "0123456789.")] == '\0')
        return err_set(err, ERR_INPUT, 0,
                       "\"%s\" is neither a host nor a network such as 10.0.0.0/8 (without bits "
                       "behind its prefix)",
                       item);
    egress->hosts =
        mem_grow(egress->hosts, &egress->host_capacity, egress->host_count + 1, sizeof(char *));
    egress->hosts[egress->host_count++] = mem_copy(item);
    return 0;
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static int add_items(struct egress *egress, const char *allow, struct err *err)
{
    int rc = 0;
    char *copy = mem_copy(allow);
    char *rest = copy;
    char *item;
    while (rc == 0 && (item = strsep(&rest, ",")) != NULL) {
        item = trim(item);
        if (*item)
            rc = add_item(egress, item, err);
    }
    free(copy);
    return rc;
}

int egress_open(const char *allow, struct egress **out, struct err *err)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) /* counted, and safe in threads */
        return err_set(err, ERR_SYSTEM, 0, "libcurl could not be set up");
    struct egress *egress = mem_alloc(1, sizeof *egress);
    egress->connect_ms = CONNECT_MS;
    egress->total_ms = TOTAL_MS;
    if (add_items(egress, allow ? allow : "", err) < 0) {
        egress_close(egress);
        return -1;
    }
    *out = egress;
    return 0;
}

void egress_close(struct egress *egress)
{
    if (!egress)
        return;
    for (size_t i = 0; i < egress->host_count; i++)
        free(egress->hosts[i]);
    free(egress->hosts);
    free(egress->networks);
    free(egress);
    curl_global_cleanup();
}

void egress_set_deadlines(struct egress *egress, long connect_ms, long total_ms)
{
    egress->connect_ms = connect_ms;
    egress->total_ms = total_ms;
}

void egress_abort(struct egress *egress)
{
    atomic_store(&egress->aborted, true);
}

static bool host_is_allowed(const struct egress *egress, const char *host)
{
    for (size_t i = 0; i < egress->host_count; i++)
        if (strcasecmp(egress->hosts[i], host) == 0)
            return true;
    return false;
}

static bool network_is_allowed(const struct egress *egress, const struct address *address)
{
    for (size_t i = 0; i < egress->network_count; i++)
        if (address_is_in(address, &egress->networks[i]))
            return true;
    return false;
}

/* --- URLs --------------------------------------------------------------------------------------
 */

/* The form, before libcurl's lenient parser sees it: one scheme of two, "://" and a host. */
static bool has_plain_form(const char *url)
{
    size_t scheme = strncasecmp(url, "https://", 8) == 0  ? 8
                    : strncasecmp(url, "http://", 7) == 0 ? 7
                                                          : 0;
    if (scheme == 0 || strchr("/?#:@", url[scheme]))
        return false;
    for (const char *at = url; *at; at++)
        if ((unsigned char)*at <= 0x20 || *at == 0x7F || *at == '\\')
            return false;
    return true;
}

/* The parsed URL, which the transfer uses, too, so that nothing is parsed twice; NULL with err. */
static CURLU *parse_url(const char *url, char **out_host, struct err *err)
{
    CURLU *parsed = NULL;
    if (strlen(url) > LIMIT_URL_BYTES) {
        (void)err_set(err, ERR_INPUT, 0, "the URL is longer than %d bytes", LIMIT_URL_BYTES);
        return NULL;
    }
    if (!has_plain_form(url)) {
        (void)err_set(err, ERR_INPUT, 0, "the URL must begin with http:// or https:// and a host");
        return NULL;
    }
    parsed = curl_url();
    CURLUcode code = CURLUE_OUT_OF_MEMORY;
    if (parsed)
        code = curl_url_set(parsed, CURLUPART_URL, url, CURLU_DISALLOW_USER);
    if (code == CURLUE_OK)
        code = curl_url_get(parsed, CURLUPART_HOST, out_host, 0);
    if (code == CURLUE_OK)
        return parsed;
    curl_url_cleanup(parsed);
    (void)err_set(err, ERR_INPUT, 0,
                  code == CURLUE_USER_NOT_ALLOWED ? "the URL must not hold a user or password"
                                                  : "the URL is malformed");
    return NULL;
}

int egress_check_url(const char *url, struct err *err)
{
    char *host = NULL;
    CURLU *parsed = parse_url(url, &host, err);
    if (!parsed)
        return -1;
    curl_free(host);
    curl_url_cleanup(parsed);
    return 0;
}

/* NULL when the address may be reached, else what it is ("loopback"). */
static const char *refused_as(const struct egress *egress, bool host_allowed,
                              const struct address *address)
{
    const char *what = address_special(address);
    return host_allowed || network_is_allowed(egress, address) ? NULL : what;
}

int egress_check_target(const struct egress *egress, const char *url, struct err *err)
{
    char *host = NULL;
    struct address address;
    CURLU *parsed = parse_url(url, &host, err);
    if (!parsed)
        return -1;
    size_t length = strlen(host);
    bool bracketed = host[0] == '[' && host[length - 1] == ']';
    char *bare = bracketed ? mem_format("%.*s", (int)length - 2, host + 1) : mem_copy(host);
    const char *what = address_parse(bare, &address)
                           ? refused_as(egress, host_is_allowed(egress, host), &address)
                           : NULL;
    free(bare);
    curl_free(host);
    curl_url_cleanup(parsed);
    if (!what)
        return 0;
    return err_set(err, ERR_REFUSED, 0,
                   "names an address that is not allowed: it is %s; the setting webhooks_allow may "
                   "name it",
                   what);
}

#define SHOWN_CUT "/…" /* instead of the path; no URL that is sent has it unescaped */

char *egress_redact(const char *url)
{
    char *host = NULL;
    CURLU *parsed = parse_url(url, &host, NULL);
    if (!parsed)
        return mem_copy("…");
    const char *rest = strstr(url, "://") + 3;
    rest += strcspn(rest, "/?#");
    size_t length = strlen(rest);
    const char *tail = length > 4 ? rest + length - 4 : "";
    while (((unsigned char)*tail & 0xC0) == 0x80) /* not from the middle of a character */
        tail++;
    char *shown = mem_format("%s://%s" SHOWN_CUT "%s",
                             strncasecmp(url, "https", 5) == 0 ? "https" : "http", host, tail);
    curl_free(host);
    curl_url_cleanup(parsed);
    return shown;
}

bool egress_is_redacted(const char *url)
{
    const char *rest = strstr(url, "://");
    rest = rest ? strchr(rest + 3, '/') : NULL;
    return rest && strncmp(rest, SHOWN_CUT, strlen(SHOWN_CUT)) == 0;
}

/* --- callbacks of the transfer ------------------------------------------------------------------
 */

/* Asked for each address after the name was resolved, so a name that changes its address between
 * check and use does not get through. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct transfer *transfer = ctx;
    struct address address;
    if (purpose != CURLSOCKTYPE_IPCXN || !address_from_socket(&to->addr, &address)) {
        transfer->refused = "unknown";
        return CURL_SOCKET_BAD;
    }
    const char *what = refused_as(transfer->egress, transfer->host_allowed, &address);
    if (what) {
        transfer->refused = what;
        return CURL_SOCKET_BAD;
    }
    transfer->allowed_count++;
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *ctx)
{
    struct transfer *transfer = ctx;
    size_t length = size * count;
    size_t room = LIMIT_ANSWER_BYTES - transfer->body.length;
    buf_add_bytes(&transfer->body, bytes, length < room ? length : room);
    if (length > room)
        transfer->cut = true;
    return length > room ? 0 : length; /* 0 ends the transfer */
}

static size_t take_header(char *bytes, size_t size, size_t count, void *ctx)
{
    static const char retry_after[] = "retry-after:";
    struct transfer *transfer = ctx;
    size_t length = size * count;
    if (length >= 5 && memcmp(bytes, "HTTP/", 5) == 0) { /* an interim answer came before */
        transfer->header_count = 0;
        transfer->has_retry_after = false;
    }
    if (++transfer->header_count > LIMIT_HEADERS_IN)
        return 0;
    if (length >= sizeof retry_after - 1 &&
        strncasecmp(bytes, retry_after, sizeof retry_after - 1) == 0)
        transfer->has_retry_after = true;
    return length;
}

/* Asked about once a second while nothing comes. */
static int go_on(void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                 curl_off_t up)
{
    struct transfer *transfer = ctx;
    (void)down_total, (void)down, (void)up_total, (void)up;
    return atomic_load(&transfer->egress->aborted) ? 1 : 0;
}

/* --- the call -----------------------------------------------------------------------------------
 */

static int add_header(struct curl_slist **list, const char *header, struct err *err)
{
    const char *colon = strchr(header, ':');
    if (!colon || colon == header || strpbrk(header, "\r\n"))
        return err_set(err, ERR_INPUT, 0, "a header must be \"Name: value\" on one line");
    struct curl_slist *longer = curl_slist_append(*list, header);
    if (!longer)
        abort(); /* as mem_alloc does */
    *list = longer;
    return 0;
}

static int make_headers(const struct egress_request *request, struct curl_slist **list,
                        struct err *err)
{
    char *type = mem_format("Content-Type: %s", request->content_type);
    int rc = add_header(list, type, err);
    free(type);
    if (rc == 0)
        rc = add_header(list, "Expect:", err); /* none: receivers answer it late or never */
    if (request->header_count > LIMIT_HEADERS_OUT)
        return err_set(err, ERR_INPUT, 0, "more than %d headers", LIMIT_HEADERS_OUT);
    for (size_t i = 0; rc == 0 && i < request->header_count; i++)
        rc = add_header(list, request->headers[i], err);
    return rc;
}

static void set_options(CURL *easy, CURLU *url, const struct egress_request *request,
                        const struct curl_slist *headers, struct transfer *transfer)
{
    /* Options fail only for values libcurl was built without; each of these is always there, and
     * what guards us is checked by the tests. */
    (void)curl_easy_setopt(easy, CURLOPT_CURLU, url);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* a proxy would go round the address check */
    (void)curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, transfer->egress->connect_ms);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, transfer->egress->total_ms);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "sweetspot");
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body ? request->body : "");
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, go_on);
    (void)curl_easy_setopt(easy, CURLOPT_XFERINFODATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
}

static int64_t retry_after_of(CURL *easy, const struct transfer *transfer)
{
    curl_off_t wait_s = 0; /* libcurl reads both forms, seconds and date; 0 for what is neither */
    if (!transfer->has_retry_after ||
        curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s) != CURLE_OK)
        return -1;
    return wait_s > 0 ? wait_s : 0;
}

/* Success and failure of the transfer; libcurl's own words hold no URL. */
static int conclude(CURL *easy, CURLcode code, struct transfer *transfer, struct egress_answer *out,
                    struct err *err)
{
    long status = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status); /* stays 0 */
    if (code == CURLE_OK || (transfer->cut && status > 0)) {
        out->status = status;
        out->body = buf_take(&transfer->body);
        out->retry_after_s = retry_after_of(easy, transfer);
        return 0;
    }
    if (code == CURLE_ABORTED_BY_CALLBACK && atomic_load(&transfer->egress->aborted))
        return err_set(err, ERR_CANCELLED, 0, "the call was given up");
    if (transfer->refused && transfer->allowed_count == 0)
        return err_set(err, ERR_REFUSED, 0,
                       "the host has a %s address; only the setting webhooks_allow can permit that",
                       transfer->refused);
    if (transfer->header_count > LIMIT_HEADERS_IN)
        return err_set(err, ERR_UNREACHABLE, 0, "the answer has more than %d header lines",
                       LIMIT_HEADERS_IN);
    return err_set(err, ERR_UNREACHABLE, 0, "no answer from the receiver: %s",
                   curl_easy_strerror(code));
}

int egress_post(struct egress *egress, const struct egress_request *request,
                struct egress_answer *out, struct err *err)
{
    int rc = -1;
    char *host = NULL;
    CURL *easy = NULL;
    struct curl_slist *headers = NULL;
    struct transfer transfer = {.egress = egress, .body = BUF_WITH_MAX(LIMIT_ANSWER_BYTES)};
    CURLU *url = parse_url(request->url, &host, err);
    if (!url)
        return -1;
    transfer.host_allowed = host_is_allowed(egress, host);
    if (make_headers(request, &headers, err) < 0)
        goto out;
    easy = curl_easy_init();
    if (!easy) {
        rc = err_set(err, ERR_SYSTEM, 0, "libcurl gives no handle");
        goto out;
    }
    set_options(easy, url, request, headers, &transfer);
    rc = conclude(easy, curl_easy_perform(easy), &transfer, out, err);
out:
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    curl_free(host);
    curl_url_cleanup(url);
    buf_fini(&transfer.body);
    return rc;
}

void egress_answer_fini(struct egress_answer *answer)
{
    if (!answer)
        return;
    free(answer->body);
    answer->body = NULL;
}
