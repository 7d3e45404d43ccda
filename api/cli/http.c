#include "api/cli/http.h"
#include "server/buf.h"
#include "server/mem.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS 5000L
#define REQUEST_MS 45000L               /* `check` may take 15 s on the server's side */
#define ANSWER_BYTES ((size_t)64 << 20) /* a report of the largest job is below 10 MiB */
#define TOKEN_BYTES 512

struct http {
    CURL *curl;
    char *url;
    char *ca_file;
    char *authorization; /* the header, or NULL */
    const volatile sig_atomic_t *stop;
};

/* --- opening ------------------------------------------------------------------------------- */

static int read_token(const char *path, char **out_header, struct err *err)
{
    char token[TOKEN_BYTES + 1] = "";
    FILE *file = fopen(path, "re");
    if (!file && errno == ENOENT)
        return 0;
    if (!file)
        return err_set(err, ERR_INPUT, errno, "cannot read the token file %.200s: %s", path,
                       strerror(errno));
    size_t bytes = fread(token, 1, TOKEN_BYTES, file);
    (void)fclose(file); /* only read */
    token[bytes] = '\0';
    token[strcspn(token, "\r\n")] = '\0';
    for (const char *at = token; *at; at++) {
        if (*at <= ' ' || *at > '~')
            return err_set(err, ERR_INPUT, 0, "the token file %.200s holds no token", path);
    }
    if (token[0])
        *out_header = mem_format("Authorization: Bearer %s", token);
    explicit_bzero(token, sizeof token);
    return 0;
}

static int check_url(const char *url, struct err *err)
{
    const char *host = NULL;
    if (strncmp(url, "http://", 7) == 0)
        host = url + 7;
    else if (strncmp(url, "https://", 8) == 0)
        host = url + 8;
    if (!host || !*host || strpbrk(host, "?#@ "))
        return err_set(err, ERR_INPUT, 0,
                       "the server's address must be http://HOST:PORT or https://HOST:PORT, "
                       "not \"%.100s\"",
                       url);
    return 0;
}

int http_open(const struct http_options *options, struct http **out, struct err *err)
{
    const char *url = options->url ? options->url : HTTP_DEFAULT_URL;
    char *authorization = NULL;
    if (check_url(url, err) < 0)
        return -1;
    if (options->token_file && read_token(options->token_file, &authorization, err) < 0)
        return -1;
    struct http *http = mem_alloc(1, sizeof *http);
    http->authorization = authorization;
    http->url = mem_copy(url);
    for (size_t end = strlen(http->url); end > 0 && http->url[end - 1] == '/'; end--)
        http->url[end - 1] = '\0';
    http->ca_file = mem_copy(options->ca_file);
    http->stop = options->stop;
    (void)curl_global_init(CURL_GLOBAL_DEFAULT); /* a failure shows in the next line */
    http->curl = curl_easy_init();
    if (!http->curl) {
        http_close(http);
        return err_set(err, ERR_SYSTEM, 0, "libcurl cannot be set up");
    }
    *out = http;
    return 0;
}

void http_close(struct http *http)
{
    if (!http)
        return;
    curl_easy_cleanup(http->curl);
    if (http->authorization)
        explicit_bzero(http->authorization, strlen(http->authorization));
    free(http->authorization);
    free(http->ca_file);
    free(http->url);
    free(http);
}

const char *http_url(const struct http *http)
{
    return http->url;
}

char *http_escape(const char *text)
{
    struct buf out = {0};
    for (; *text; text++) {
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                     (*text >= '0' && *text <= '9') || strchr("-._~", *text);
        if (plain)
            buf_add_char(&out, *text);
        else
            buf_format(&out, "%%%02X", (unsigned char)*text);
    }
    return buf_take(&out);
}

/* --- one request --------------------------------------------------------------------------- */

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct buf *body = arg;
    buf_add_bytes(body, bytes, size * count);
    return buf_ok(body) ? size * count : 0; /* anything but all ends the transfer */
}

static int on_progress(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    const struct http *http = arg;
    (void)down_total, (void)down, (void)up_total, (void)up;
    return http->stop && *http->stop;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
    char *line = mem_format("%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(list, line);
    if (!longer)
        abort(); /* no memory, as in mem.c */
    free(line);
    return longer;
}

static struct curl_slist *make_headers(const struct http *http, const struct http_request *request)
{
    struct curl_slist *list = NULL;
    list = add_header(list, "Accept", request->accept ? request->accept : "application/json");
    list = add_header(list, "Expect", ""); /* no 100-continue: one round trip less */
    /* empty: none, where libcurl would name a form's */
    list = add_header(list, "Content-Type", request->body ? "application/json" : "");
    if (request->idempotency_key)
        list = add_header(list, "Idempotency-Key", request->idempotency_key);
    if (http->authorization)
        list = curl_slist_append(list, http->authorization);
    return list;
}

static void set_up(struct http *http, const struct http_request *request, const char *url,
                   struct buf *body)
{
    CURL *curl = http->curl;
    curl_easy_reset(curl); /* keeps the connection */
    (void)curl_easy_setopt(curl, CURLOPT_URL, url);
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "sweetspot/" SWEETSPOT_VERSION);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, REQUEST_MS);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, http);
    if (http->ca_file)
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, http->ca_file);
    if (request->body || strcmp(request->method, "GET") != 0) {
        const char *text = request->body ? request->body : "";
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
    }
}

static int fail(const struct http *http, CURLcode code, struct err *err)
{
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return err_set(err, ERR_CANCELLED, 0, "interrupted");
    bool may_have_arrived = code == CURLE_GOT_NOTHING || code == CURLE_RECV_ERROR ||
                            code == CURLE_SEND_ERROR || code == CURLE_PARTIAL_FILE ||
                            code == CURLE_OPERATION_TIMEDOUT || code == CURLE_HTTP2;
    return err_set(err, ERR_UNREACHABLE, may_have_arrived, "no answer from %.200s: %s", http->url,
                   curl_easy_strerror(code));
}

int http_send(struct http *http, const struct http_request *request, struct http_answer *out,
              struct err *err)
{
    struct buf body = BUF_WITH_MAX(ANSWER_BYTES);
    char *url = mem_format("%s%s", http->url, request->path);
    struct curl_slist *headers = make_headers(http, request);
    set_up(http, request, url, &body);
    (void)curl_easy_setopt(http->curl, CURLOPT_HTTPHEADER, headers);
    CURLcode code = curl_easy_perform(http->curl);
    curl_slist_free_all(headers);
    free(url);
    if (code != CURLE_OK) {
        buf_fini(&body);
        return fail(http, code, err);
    }
    curl_off_t retry_after_s = -1;
    *out = (struct http_answer){.body_bytes = body.length};
    out->body = buf_take(&body);
    (void)curl_easy_getinfo(http->curl, CURLINFO_RESPONSE_CODE, &out->status);
    (void)curl_easy_getinfo(http->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    out->retry_after_s = retry_after_s > 0 ? retry_after_s : -1;
    return 0;
}

void http_answer_fini(struct http_answer *answer)
{
    if (!answer)
        return;
    free(answer->body);
    *answer = (struct http_answer){0};
}
