#include "api/gate.h"
#include "api/access.h"
#include "api/http_inner.h"
#include "server/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum head_name {
    HEAD_HOST,
    HEAD_CONTENT_LENGTH,
    HEAD_TRANSFER_ENCODING,
    HEAD_AUTHORIZATION,
    HEAD_CONTENT_TYPE,
    HEAD_CONTENT_ENCODING,
    HEAD_IDEMPOTENCY_KEY,
    HEAD_IF_MATCH,
    HEAD_IF_NONE_MATCH,
    HEAD_ORIGIN,
    HEAD_EXPECT,
    HEAD_OTHER,
};

/* Headers that may stand there once only: of two, a proxy may believe the other one. */
static const char *const once_names[HEAD_OTHER] = {
    [HEAD_HOST] = "Host",
    [HEAD_CONTENT_LENGTH] = "Content-Length",
    [HEAD_TRANSFER_ENCODING] = "Transfer-Encoding",
    [HEAD_AUTHORIZATION] = "Authorization",
    [HEAD_CONTENT_TYPE] = "Content-Type",
    [HEAD_CONTENT_ENCODING] = "Content-Encoding",
    [HEAD_IDEMPOTENCY_KEY] = "Idempotency-Key",
    [HEAD_IF_MATCH] = "If-Match",
    [HEAD_IF_NONE_MATCH] = "If-None-Match",
    [HEAD_ORIGIN] = "Origin",
    [HEAD_EXPECT] = "Expect",
};

struct head {
    int lines; /* headers there are */
    int seen[HEAD_OTHER + 1];
    const char *fault;     /* the first one, as a sentence; NULL: none */
    const char *value_end; /* of the header before */
};

static bool is_token(const char *text, size_t length)
{
    static const char others[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        bool alnum = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                     (byte >= '0' && byte <= '9');
        if (!alnum && (byte == '\0' || !strchr(others, byte)))
            return false;
    }
    return length > 0;
}

static bool has_control(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7F)
            return true;
    }
    return false;
}

/* Before 0.9.77 a folded line is appended to the *name* of the header before it, a NUL byte hides
 * what follows, and a line with an empty name ends the head: `Content-Len: 5 CRLF blank gth`
 * becomes a Content-Length that no proxy has seen. But names and values are left where they came
 * in: name NUL blanks value NUL NUL name … NUL NUL (process_header_line, get_next_header_line and
 * MHD_connection_handle_idle of 0.9.75; CR and LF become NUL). So what is not laid out like that
 * was folded, had a NUL or an empty name, or ended with a bare LF. Later versions treat such lines
 * as RFC 9112 asks. */
#define HEAD_MUST_BE_CONTIGUOUS (MHD_VERSION < 0x00097700)

static bool line_is_as_sent(struct head *head, const char *name, size_t name_length,
                            const char *value, size_t value_length)
{
    const char *at = name + name_length;
    if (head->value_end && name != head->value_end + 2)
        return false;
    head->value_end = value + value_length;
    if (value <= at || *at != '\0')
        return false;
    for (at++; at < value; at++)
        if (*at != ' ' && *at != '\t')
            return false;
    return true;
}

static size_t head_bytes(const struct req *req)
{
    return MHD_get_connection_info(req->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE)
        ->header_size;
}

/* The head ends with the last value, its CRLF and the empty line. */
static bool end_is_as_sent(struct req *req, const struct head *head)
{
    return head->value_end && head->value_end + 4 == req->method + head_bytes(req);
}

static enum head_name name_of(const char *name)
{
    int i = 0;
    while (i < HEAD_OTHER && strcasecmp(once_names[i], name) != 0)
        i++;
    return (enum head_name)i;
}

static const char not_as_sent[] =
    "a header line is folded, holds a NUL byte, has no name or ends with a bare LF";

static const char *line_fault(struct head *head, const char *name, size_t name_length,
                              const char *value, size_t value_length)
{
    if (HEAD_MUST_BE_CONTIGUOUS && !line_is_as_sent(head, name, name_length, value, value_length))
        return not_as_sent;
    if (!is_token(name, name_length))
        return "the name of a header is not a token";
    if (has_control(value, value_length))
        return "the value of a header holds a control byte";
    enum head_name known = name_of(name);
    if (head->seen[known]++ > 0 && known != HEAD_OTHER)
        return "a header that may stand there once stands there twice";
    return NULL;
}

static enum MHD_Result on_header(void *ctx, enum MHD_ValueKind kind, const char *name,
                                 size_t name_length, const char *value, size_t value_length)
{
    struct head *head = ctx;
    (void)kind;
    head->fault = line_fault(head, name, name_length, value ? value : "", value_length);
    return head->fault ? MHD_NO : MHD_YES;
}

/* What makes it unsafe to read on, or NULL. */
static const char *framing_fault(struct req *req, struct head *head)
{
    head->lines = MHD_get_connection_values_n(req->connection, MHD_HEADER_KIND, on_header, head);
    if (head->fault)
        return head->fault;
    if (!is_token(req->method, strlen(req->method)))
        return "the method is not a token";
    if (head->seen[HEAD_HOST] > 0 && HEAD_MUST_BE_CONTIGUOUS && !end_is_as_sent(req, head))
        return not_as_sent;
    if (head->seen[HEAD_HOST] == 0)
        return "there is no Host";
    if (head->seen[HEAD_TRANSFER_ENCODING] == 0)
        return NULL;
    if (head->seen[HEAD_CONTENT_LENGTH] > 0)
        return "Content-Length and Transfer-Encoding exclude each other";
    if (strcasecmp(req_header(req, "Transfer-Encoding"), "chunked") != 0)
        return "the only Transfer-Encoding is chunked";
    return NULL;
}

/* --- names --------------------------------------------------------------------------------- */

/* The length of Host without its port. */
static size_t host_name_length(const char *host)
{
    if (host[0] == '[') {
        const char *end = strchr(host, ']');
        return end ? (size_t)(end - host) + 1 : strlen(host);
    }
    return strcspn(host, ":");
}

static bool is_port(const char *text)
{
    if (*text == '\0')
        return true;
    if (*text != ':')
        return false;
    size_t digits = strspn(text + 1, "0123456789");
    return digits >= 1 && digits <= 5 && text[1 + digits] == '\0';
}

/* Four numbers with dots, the first 127: what inet_aton takes besides ("127.1", octal) is not
 * what a client of ours sends. */
static bool is_loopback_ipv4(const char *text, size_t length)
{
    int parts = 0;
    size_t at = 0;
    while (at < length && parts < 4) {
        int value = 0;
        size_t digits = 0;
        for (; at < length && text[at] >= '0' && text[at] <= '9' && digits < 3; at++, digits++)
            value = value * 10 + (text[at] - '0');
        if (digits == 0 || value > 255 || (parts == 0 && value != 127))
            return false;
        parts++;
        if (at < length && text[at++] != '.')
            return false;
    }
    return parts == 4 && at == length && text[length - 1] != '.';
}

bool gate_is_loopback_host(const char *host)
{
    size_t length = host_name_length(host);
    if (!is_port(host + length))
        return false;
    if (length == strlen("localhost") && strncasecmp(host, "localhost", length) == 0)
        return true;
    if (length == strlen("[::1]") && strncmp(host, "[::1]", length) == 0)
        return true;
    return is_loopback_ipv4(host, length);
}

bool gate_is_own_origin(const char *origin, const char *host)
{
    if (strncasecmp(origin, "http://", 7) == 0)
        return strcasecmp(origin + 7, host) == 0;
    if (strncasecmp(origin, "https://", 8) == 0)
        return strcasecmp(origin + 8, host) == 0;
    return false;
}

bool gate_is_request_id(const char *text)
{
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                 "._-");
    return length >= 1 && length < REQ_ID_SIZE && text[length] == '\0';
}

/* --- the whole ----------------------------------------------------------------------------- */

static void take_request_id(struct req *req)
{
    const char *id = req_header(req, "X-Request-Id");
    if (id && gate_is_request_id(id))
        (void)snprintf(req->id, sizeof req->id, "%s", id);
}

/* What is far too large for libmicrohttpd's memory it refuses itself (http_own_answers.h). */
static bool check_size(struct req *req, const struct head *head)
{
    req->refused = true;
    if (strlen(req->target.raw) > LIMIT_TARGET_BYTES)
        problem_answer(req, PROBLEM_TARGET_TOO_LONG, "a target may have at most %d bytes",
                       LIMIT_TARGET_BYTES);
    else if (head_bytes(req) > LIMIT_HEAD_BYTES || head->lines > LIMIT_HEAD_LINES)
        problem_answer(req, PROBLEM_HEAD_TOO_LARGE,
                       "the headers may have at most %d bytes in %d lines", LIMIT_HEAD_BYTES,
                       LIMIT_HEAD_LINES);
    else
        req->refused = false;
    return !req->refused;
}

/* Not a page of its own, but an image, script, frame or fetch of another one. */
static bool is_part_of_a_page(struct req *req)
{
    const char *mode = req_header(req, "Sec-Fetch-Mode");
    const char *use = req_header(req, "Sec-Fetch-Dest");
    return (mode && strcmp(mode, "navigate") != 0) || (use && strcmp(use, "document") != 0);
}

/* Browsers say where a call comes from, also where they send no Origin. A link to us may be
 * followed from anywhere; a change may not be made, and nothing becomes a part of a page there. */
static bool is_from_another_site(struct req *req)
{
    const char *site = req_header(req, "Sec-Fetch-Site");
    bool reads = strcmp(req->method, "GET") == 0 || strcmp(req->method, "HEAD") == 0;
    if (!site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0)
        return false;
    return !reads || is_part_of_a_page(req);
}

static void check_names(struct req *req)
{
    /* RFC 9112 3.2.2: what a whole URL names counts, and Host does not */
    const char *host = req->target.authority ? req->target.authority : req_header(req, "Host");
    const char *origin = req_header(req, "Origin");
    req->refused = true;
    if (req->target_fault)
        problem_answer(req, PROBLEM_MALFORMED, "the target %s", req->target_fault);
    else if ((origin && !gate_is_own_origin(origin, host)) || is_from_another_site(req))
        problem_answer(req, PROBLEM_FOREIGN_ORIGIN, "a page of another origin may not call this");
    else
        req->refused = !access_admit(req, host);
}

/* A body that was declared too long. False when the connection must close at once. */
static bool check_length(struct req *req, const struct head *head)
{
    const char *declared = req_header(req, "Content-Length");
    /* libmicrohttpd has checked that it is a number which fits */
    uint64_t length = declared ? strtoull(declared, NULL, 10) : 0;
    if (length <= LIMIT_BODY_BYTES)
        return true;
    problem_answer(req, PROBLEM_TOO_LARGE, "a body may have at most %d bytes", LIMIT_BODY_BYTES);
    req->refused = true;
    /* who asks with Expect has not begun to send, and need not */
    return length <= GATE_DRAIN_BYTES && head->seen[HEAD_EXPECT] == 0;
}

bool gate_check(struct req *req, const char *version)
{
    struct head head = {0};
    const char *fault = framing_fault(req, &head);
    bool keep = fault == NULL;
    take_request_id(req);
    if (fault) {
        problem_answer(req, PROBLEM_MALFORMED, "%s", fault);
    } else if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0) {
        problem_answer(req, PROBLEM_HTTP_VERSION, "this is neither HTTP/1.0 nor HTTP/1.1");
        keep = false;
    } else {
        if (check_size(req, &head))
            check_names(req);
        if (!req->refused)
            keep = check_length(req, &head);
    }
    req->refused = req->refused || !keep;
    req->answer.close = !keep;
    return keep;
}

bool gate_check_end(struct req *req)
{
    /* A trailer with an empty name would end the request early, as above, and what follows it
     * would be the next one. */
    if (MHD_get_connection_values(req->connection, MHD_FOOTER_KIND, NULL, NULL) == 0)
        return true;
    problem_answer(req, PROBLEM_MALFORMED, "a body may have no trailers");
    req->answer.close = true;
    return false;
}
