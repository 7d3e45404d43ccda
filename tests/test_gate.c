/* What libmicrohttpd lets through and our gate does not. Each raw request below carries a second
 * one, a PUT, where a lenient parser would find it; none of them may ever be executed. */
#include "api/gate.h"
#include "server/buf.h"
#include "server/limits.h"
#include "tests/http_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BODY                                                                                       \
    "{\"host\":\"h\",\"login\":\"l\",\"password\":{\"env\":\"SWEETSPOT_SECRET_A\"}}" /* 64 bytes   \
                                                                                      */
#define SMUGGLED                                                                                   \
    "PUT /v1/instances/smuggled HTTP/1.1\r\nHost: localhost\r\n"                                   \
    "Content-Type: application/json\r\nContent-Length: 64\r\n\r\n" BODY
#define POST "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
#define GET "GET /livez HTTP/1.1\r\nHost: localhost\r\n"
#define CHUNKED POST "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CLOSES true
#define STAYS false

struct raw_case {
    const char *name;
    const char *bytes;
    size_t length;
    int status;
    bool closes;
};

#define RAW(text) (text), sizeof(text) - 1

/* clang-format off */
static const struct raw_case cases[] = {
    /* two lengths */
    {"length, then chunked",      RAW(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"chunked, then length",      RAW(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"lengths 5 and 0",           RAW(POST "Content-Length: 5\r\nContent-Length: 0\r\n\r\n12345" SMUGGLED), 400, CLOSES},
    {"lengths 0 and 5",           RAW(POST "Content-Length: 0\r\nContent-Length: 5\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"one length twice",          RAW(POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" SMUGGLED), 400, CLOSES},
    {"an unknown encoding",       RAW(POST "Transfer-Encoding: xchunked\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"two encodings",             RAW(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"encoding identity",         RAW(POST "Transfer-Encoding: identity\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"encoding twice",            RAW(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"encoding with a blank",     RAW(POST "Transfer-Encoding : chunked\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"length with a blank",       RAW(POST "Content-Length : 0\r\n\r\n" SMUGGLED), 400, CLOSES},
    /* lengths that are no numbers */
    {"length +5",                 RAW(POST "Content-Length: +5\r\n\r\n12345" SMUGGLED), 400, CLOSES},
    {"length -1",                 RAW(POST "Content-Length: -1\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"length 5abc",               RAW(POST "Content-Length: 5abc\r\n\r\n12345" SMUGGLED), 400, CLOSES},
    {"length 5, 5",               RAW(POST "Content-Length: 5, 5\r\n\r\n12345" SMUGGLED), 400, CLOSES},
    {"length of 23 digits",       RAW(POST "Content-Length: 99999999999999999999999\r\n\r\n" SMUGGLED), 413, CLOSES},
    {"chunk size 0x5",            RAW(CHUNKED "0x5\r\n12345\r\n0\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"chunk size -5",             RAW(CHUNKED "-5\r\n12345\r\n0\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"chunk size that overflows", RAW(CHUNKED "10000000000000005\r\n12345\r\n0\r\n\r\n" SMUGGLED), 413, CLOSES},
    {"chunk without its end",     RAW(CHUNKED "5\r\n123450\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a trailer",                 RAW(CHUNKED "2\r\n{}\r\n0\r\nX: y\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a trailer without a name",  RAW(CHUNKED "2\r\n{}\r\n0\r\n: y\r\n: z\r\n" SMUGGLED), 400, CLOSES},
    {"a trailer, then no name",   RAW(CHUNKED "2\r\n{}\r\n0\r\nX: y\r\n: z\r\n" SMUGGLED), 400, CLOSES},
    /* headers twice */
    {"two hosts",                 RAW(GET "Host: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"two authorizations",        RAW(GET "Authorization: a\r\nAuthorization: b\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"two content types",         RAW(POST "Content-Type: text/plain\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}" SMUGGLED), 400, CLOSES},
    {"two encodings",             RAW(POST "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"two keys",                  RAW(POST "Idempotency-Key: a\r\nidempotency-key: b\r\n\r\n" SMUGGLED), 400, CLOSES},
    /* lines that are not what they seem */
    {"no host",                   RAW("GET /livez HTTP/1.1\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"no host in 1.0",            RAW("GET /livez HTTP/1.0\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"bare CR in a value",        RAW(GET "X: a\rContent-Length: 5\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"bare CR in a name",         RAW(GET "X\rY: a\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a folded line",             RAW(GET "X: a\r\n b\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a line folded by a tab",    RAW(GET "X: a\r\n\tfolded: b\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a fold that hides length",  RAW(POST "Content-Length: 5\r\n x\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a fold that makes length",  RAW(POST "Content-Len:            0\r\n gth\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a fold in the last line",   RAW(POST "X: y\r\n z\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"NUL in a value",            RAW(GET "X: a\0b\r\nY: c\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"NUL in the last value",     RAW(GET "X: a\0b\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"NUL in a length",           RAW(POST "Content-Length: 0\0005\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"NUL in a name",             RAW(GET "X\0Y: a\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"an empty name",             RAW(GET ": a\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"an empty name that ends it", RAW(GET ": a\r\n" SMUGGLED), 400, CLOSES},
    {"an empty name and value",   RAW(GET ":\r\n" SMUGGLED), 400, CLOSES},
    {"a name of two words",       RAW(GET "X Y: a\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a name in UTF-8",           RAW(GET "\xC3\xA4: a\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a line without colon",      RAW(GET "nothing\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"bare LF in the head",       RAW("GET /livez HTTP/1.1\r\nHost: localhost\nX: a\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a control byte in a value", RAW(GET "X: a\x01\r\n\r\n" SMUGGLED), 400, CLOSES},
    /* versions and methods */
    {"HTTP/1.9",                  RAW("GET /livez HTTP/1.9\r\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"HTTP/2.0",                  RAW("GET /livez HTTP/2.0\r\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"HTTP/0.9",                  RAW("GET /livez\r\n" SMUGGLED), 400, CLOSES},
    {"http in small letters",     RAW("GET /livez http/1.1\r\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a method with a control",   RAW("G\x01T /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"an unknown method",         RAW("BREW /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405, STAYS},
    {"get in small letters",      RAW("get /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405, STAYS},
    {"a GET with a request in it", RAW("GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 172\r\n\r\n" SMUGGLED), 415, STAYS},
    /* targets */
    {"NUL, encoded",              RAW("GET /livez%00x HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"NUL in the query, encoded", RAW("GET /v1/jobs?state=a%00 HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a hidden slash",            RAW("GET /v1%2fjobs HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a hidden backslash",        RAW("GET /v1%5Cjobs HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"two slashes",               RAW("GET //v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a dot",                     RAW("GET /./livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"two dots",                  RAW("GET /v1/../livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"two dots, encoded",         RAW("GET /v1/%2e%2E/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a broken escape",           RAW("GET /livez%2 HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"UTF-8, raw",                RAW("GET /\xC3\xA4 HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"not UTF-8, encoded",        RAW("GET /v1/jobs?label=a:%FF HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a whole URL",               RAW("GET http://localhost/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200, STAYS},
    {"a whole URL of a foreign host", RAW("GET http://evil.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 403, STAYS},
    {"a whole URL, Host foreign", RAW("GET HTTP://127.0.0.1:1/livez HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 200, STAYS},
    {"a whole URL without a path", RAW("GET https://localhost?x HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"HTTP/1.10",                 RAW("GET /livez HTTP/1.10\r\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"HTTP/0.9",                  RAW("GET /livez HTTP/0.9\r\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"HTTP/2's preface",          RAW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 400, CLOSES},
    {"no version",                RAW("GET /livez\r\n" SMUGGLED), 400, CLOSES},
    {"no version, bare LF",       RAW("GET /livez\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"another protocol",          RAW("GET /livez ICY/1.1\r\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a version in small letters", RAW("GET /livez http/1.1\r\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"two blanks before it",      RAW("GET /livez  HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a whole URL without a host", RAW("GET http:///livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a whole URL with a user",   RAW("GET http://localhost@evil.example/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a whole URL, encoded host", RAW("GET http://local%68ost/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a whole URL, a blank in it", RAW("GET http://local host/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a whole URL, two Hosts",    RAW("GET http://localhost/livez HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a whole URL, no Host",      RAW("GET http://localhost/livez HTTP/1.1\r\n\r\n" SMUGGLED), 400, CLOSES},
    {"a whole URL, two slashes",  RAW("GET http://localhost//livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a whole URL, another scheme", RAW("GET ftp://localhost/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a tunnel",                  RAW("CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"an asterisk",               RAW("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a blank in the target",     RAW("GET /livez /x HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a backslash",               RAW("GET /v1\\jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    {"a fragment",                RAW("GET /livez#x HTTP/1.1\r\nHost: localhost\r\n\r\n"), 400, STAYS},
    /* hosts */
    {"an empty host",             RAW("GET /livez HTTP/1.1\r\nHost:\r\n\r\n"), 403, STAYS},
    {"a foreign host",            RAW("GET /livez HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403, STAYS},
    /* what is fine */
    {"blanks around a value",     RAW("GET /livez HTTP/1.1\r\nHost: \t localhost \t\r\n\r\n"), 200, STAYS},
    {"an empty value",            RAW(GET "X:\r\nY: \r\n\r\n"), 200, STAYS},
    {"HTTP/1.0",                  RAW("GET /livez HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"), 200, STAYS},
    {"an escape that was needless", RAW("GET /%6Civez HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200, STAYS},
    {"a GET with {}",             RAW(GET "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"), 200, STAYS},
    {"a chunked body",            RAW(CHUNKED "2\r\n{}\r\n0\r\n\r\n"), 400, STAYS},
    {"a chunk with an extension", RAW(CHUNKED "2;a=b\r\n{}\r\n0\r\n\r\n"), 400, STAYS},
};
/* clang-format on */

static int status_of(int port, const char *target)
{
    struct reply reply = call(port, "GET", target, NULL, NULL);
    int status = reply.status;
    reply_fini(&reply);
    return status;
}

static void check(int port, const struct raw_case *given)
{
    struct client client = client_open(port);
    client_send_bytes(&client, given->bytes, given->length);
    struct reply reply = client_read(&client, true);
    if (reply.status != given->status)
        fail_msg("%s: %d instead of %d\n%s", given->name, reply.status, given->status, reply.head);
    if (given->status >= 400 && /* also what libmicrohttpd refuses before we are asked */
        (!reply_header(&reply, "X-Request-Id")[0] ||
         strcmp(reply_header(&reply, "Content-Type"), "application/problem+json") != 0))
        fail_msg("%s: %s", given->name, reply.head);
    reply_fini(&reply);
    if (given->closes) {
        /* libmicrohttpd 0.9.75 repeats its own head when a length is no number; what counts is
         * that nothing is answered after it */
        const char *rest = client_read_rest(&client);
        if (strstr(rest, "HTTP/1.1 2"))
            fail_msg("%s: something more was answered: %s", given->name, rest);
    } else {
        reply = client_call(&client, "GET", "/livez", NULL, NULL);
        if (reply.status != 200)
            fail_msg("%s: the connection is spoilt", given->name);
        reply_fini(&reply);
    }
    client_close(&client);
    if (status_of(port, "/v1/instances/smuggled") != 404)
        fail_msg("%s: the second request was executed", given->name);
}

static void no_second_request_is_executed(void **state)
{
    const struct http_kit *kit = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check(kit->port, &cases[i]);
    print_message("%zu raw requests as expected, 0 second ones executed\n",
                  sizeof cases / sizeof cases[0]);
}

static void the_second_request_works_by_itself(void **state)
{
    const struct http_kit *kit = *state;
    struct client client = client_open(kit->port);
    client_send(&client, SMUGGLED);
    struct reply reply = client_read(&client, true);
    assert_int_equal(reply.status, 201);
    reply_fini(&reply);
    client_close(&client);
    assert_int_equal(status_of(kit->port, "/v1/instances/smuggled"), 200);
}

struct head_case {
    size_t target; /* bytes of the target behind its slash */
    size_t lines;  /* headers, and the digits in each value */
    size_t digits;
    int status;
    bool closes; /* too large even to be read */
};

static void check_head(int port, const struct head_case *given)
{
    struct buf head = {0};
    buf_add(&head, "GET /");
    for (size_t i = 0; i < given->target; i++)
        buf_add_char(&head, 'a');
    buf_add(&head, " HTTP/1.1\r\nHost: localhost\r\n");
    for (size_t i = 0; i < given->lines; i++)
        buf_format(&head, "X-%zu: %0*d\r\n", i, (int)given->digits, 0);
    buf_add(&head, "\r\n");
    struct client client = client_open(port);
    client_send_bytes(&client, buf_text(&head), head.length);
    struct reply reply = client_read(&client, true);
    bool is_ours = strcmp(reply_header(&reply, "X-Request-Id"), "") != 0;
    if (reply.status != given->status || (given->status >= 400 && !is_ours))
        fail_msg("target %zu, %zu lines of %zu: %d\n%s", given->target, given->lines, given->digits,
                 reply.status, reply.head);
    reply_fini(&reply);
    if (!given->closes) { /* it was read as a whole: the connection is good for more */
        reply = client_call(&client, "GET", "/livez", NULL, NULL);
        assert_int_equal(reply.status, 200);
        reply_fini(&reply);
    }
    client_close(&client);
    buf_fini(&head);
}

static void heads_have_a_limit(void **state)
{
    static const struct head_case heads[] = {
        {LIMIT_TARGET_BYTES - 1, 0, 0, 404, false},
        {LIMIT_TARGET_BYTES, 0, 0, 414, false},
        {20000, 0, 0, 414, false},
        {40000, 0, 0, 414, true},
        {1, LIMIT_HEAD_LINES - 1, 10, 404, false}, /* Host is the one more */
        {1, LIMIT_HEAD_LINES, 10, 431, false},
        {1, 200, 10, 431, false},
        {1, 2000, 10, 431, true},
        {1, 20, 400, 404, false},
        {1, 1, 16000, 404, false},
        {1, 1, LIMIT_HEAD_BYTES, 431, false},
        {1, 20, 1000, 431, false},
        {1, 1, 40000, 431, true},
    };
    const struct http_kit *kit = *state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        check_head(kit->port, &heads[i]);
}

/* Nothing that is served comes from a folder, so no spelling of a path leads to a file. */
static void no_spelling_of_a_path_reads_a_file(void **state)
{
    static const char *const places[] = {
        "/", "/v1/", "/v1/instances/", "/v1/jobs/", "/openapi.yaml/", "/static/", "//", "file://"};
    static const char *const climbs[] = {
        "../../../../etc/passwd",
        "..%2f..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "%2e%2e%2f%2e%2e%2fetc/passwd",
        "..%252f..%252f..%252fetc%252fpasswd",
        "%252e%252e/%252e%252e/etc/passwd",
        "....//....//....//etc/passwd",
        "..;/..;/..;/etc/passwd",
        "..%5c..%5c..%5cetc%5cpasswd",
        "..\\..\\..\\etc\\passwd",
        "..%c0%af..%c0%afetc/passwd",
        "..%e0%80%af..%e0%80%afetc/passwd",
        "%uff0e%uff0e/etc/passwd",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "etc/passwd%00",
        "etc/passwd%00.yaml",
        "@/etc/passwd",
        "%40/etc/passwd",
        "file:///etc/passwd",
        "sweetspot.db",
        "key",
        ".git/config",
        "proc/self/environ",
        "~/.ssh/id_rsa",
    };
    const struct http_kit *kit = *state;
    struct client client = client_open(kit->port);
    for (size_t place = 0; place < sizeof places / sizeof places[0]; place++) {
        for (size_t climb = 0; climb < sizeof climbs / sizeof climbs[0]; climb++) {
            char target[200];
            (void)snprintf(target, sizeof target, "%s%s", places[place], climbs[climb]);
            struct reply reply = client_call(&client, "GET", target, NULL, NULL);
            if (reply.status != 400 && reply.status != 404)
                fail_msg("%s: %d", target, reply.status);
            assert_null(strstr(reply.body, "root:"));
            reply_fini(&reply);
        }
    }
    client_close(&client);
    print_message("%zu spellings of paths: 0 bytes of a file\n",
                  sizeof places / sizeof places[0] * (sizeof climbs / sizeof climbs[0]));
}

static void only_names_of_the_loopback_are_ours(void **state)
{
    static const struct {
        const char *host;
        bool is_loopback;
    } hosts[] = {
        {"localhost", true},
        {"LocalHost:8484", true},
        {"127.0.0.1", true},
        {"127.0.0.1:1", true},
        {"127.255.0.9:65535", true},
        {"[::1]", true},
        {"[::1]:80", true},
        {"", false},
        {"localhost.", false},
        {"localhost.evil.example", false},
        {"evil.example", false},
        {"evil.example:8484", false},
        {"127.0.0.1.evil.example", false},
        {"127.0.0.1.", false},
        {"127.1", false},
        {"127.0.0.256", false},
        {"0127.0.0.1", false},
        {"128.0.0.1", false},
        {"0.0.0.0", false},
        {"[::]", false},
        {"[::1", false},
        {"::1", false},
        {"localhost:", false},
        {"localhost:80x", false},
        {"localhost:123456", false},
        {"localhost:80@evil.example", false},
        {"user@localhost", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (gate_is_loopback_host(hosts[i].host) != hosts[i].is_loopback)
            fail_msg("%s", hosts[i].host);
}

static void only_our_own_pages_may_call(void **state)
{
    (void)state;
    assert_true(gate_is_own_origin("http://localhost:8484", "localhost:8484"));
    assert_true(gate_is_own_origin("HTTP://LOCALHOST:8484", "localhost:8484"));
    assert_true(gate_is_own_origin("https://bench.example", "bench.example"));
    assert_false(gate_is_own_origin("null", "localhost"));
    assert_false(gate_is_own_origin("", "localhost"));
    assert_false(gate_is_own_origin("http://localhost:81", "localhost:8484"));
    assert_false(gate_is_own_origin("http://evil.example", "localhost"));
    assert_false(gate_is_own_origin("http://localhost.evil.example", "localhost"));
    assert_false(gate_is_own_origin("file://localhost", "localhost"));
}

static void request_ids_are_plain(void **state)
{
    (void)state;
    assert_true(gate_is_request_id("a"));
    assert_true(gate_is_request_id("0193a1b2-0000-7000-8000-000000000000"));
    assert_false(gate_is_request_id(""));
    assert_false(gate_is_request_id("a b"));
    assert_false(gate_is_request_id("a\"b"));
    assert_true(
        gate_is_request_id("0123456789012345678901234567890123456789012345678901234567890123"));
    assert_false(
        gate_is_request_id("01234567890123456789012345678901234567890123456789012345678901234"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(the_second_request_works_by_itself),
        HTTP_TEST(no_second_request_is_executed),
        HTTP_TEST(heads_have_a_limit),
        HTTP_TEST(no_spelling_of_a_path_reads_a_file),
        cmocka_unit_test(only_names_of_the_loopback_are_ours),
        cmocka_unit_test(only_our_own_pages_may_call),
        cmocka_unit_test(request_ids_are_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
