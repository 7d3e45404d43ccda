/* Outgoing HTTP against a receiver in this process. Nothing leaves the machine. */
#include "server/buf.h"
#include "server/clock.h"
#include "server/egress.h"
#include "server/limits.h"
#include "server/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* --- the receiver ------------------------------------------------------------------------------
 */

struct receiver {
    int listening;
    int port;
    pthread_t thread;
    char *answer; /* what each connection gets; NULL: nothing, until the other side ends it */
    long repeats; /* how often the last 1000 bytes are sent again */
    atomic_int connections;
    struct buf request; /* of the last connection; read after receiver_stop or egress_post */
};

/* Reads head and body as far as Content-Length says; false when the other side left. */
static bool read_request(struct receiver *receiver, int connection)
{
    char piece[4096];
    buf_clear(&receiver->request);
    for (;;) {
        const char *text = buf_text(&receiver->request);
        const char *end = strstr(text, "\r\n\r\n");
        const char *length = strcasestr(text, "content-length:");
        if (end && length &&
            receiver->request.length >=
                (size_t)(end + 4 - text) + (size_t)strtoul(length + 15, NULL, 10))
            return true;
        ssize_t got = recv(connection, piece, sizeof piece, 0);
        if (got <= 0)
            return false;
        buf_add_bytes(&receiver->request, piece, (size_t)got);
    }
}

static void send_all(int connection, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(connection, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void answer(struct receiver *receiver, int connection)
{
    char byte;
    if (!read_request(receiver, connection))
        return;
    if (!receiver->answer) {
        while (recv(connection, &byte, 1, 0) > 0)
            ;
        return;
    }
    size_t length = strlen(receiver->answer);
    send_all(connection, receiver->answer, length);
    for (long i = 0; i < receiver->repeats; i++)
        send_all(connection, receiver->answer + length - 1000, 1000);
}

static void *receive(void *argument)
{
    struct receiver *receiver = argument;
    for (;;) {
        int connection = accept(receiver->listening, NULL, NULL);
        if (connection < 0)
            return NULL; /* receiver_stop has shut it down */
        atomic_fetch_add(&receiver->connections, 1);
        answer(receiver, connection);
        (void)close(connection);
    }
}

static void receiver_start(struct receiver *receiver, const char *text)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    memset(receiver, 0, sizeof *receiver);
    receiver->answer = mem_copy(text);
    receiver->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(receiver->listening >= 0);
    assert_int_equal(bind(receiver->listening, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(receiver->listening, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(listen(receiver->listening, 8), 0);
    receiver->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&receiver->thread, NULL, receive, receiver), 0);
}

static void receiver_stop(struct receiver *receiver)
{
    (void)shutdown(receiver->listening, SHUT_RDWR);
    (void)pthread_join(receiver->thread, NULL);
    (void)close(receiver->listening);
    buf_fini(&receiver->request);
    free(receiver->answer);
}

/* --- calling it ---------------------------------------------------------------------------------
 */

struct call {
    int rc;
    struct egress_answer answer;
    struct err err;
};

static struct call post_to(const char *allow, const char *url, const char *const *headers,
                           size_t header_count)
{
    struct call call = {.answer = {.status = -7}};
    struct egress *egress = NULL;
    struct egress_request request = {.url = url,
                                     .content_type = "application/json",
                                     .body = "{\"a\":1}",
                                     .body_length = 7,
                                     .headers = headers,
                                     .header_count = header_count};
    assert_int_equal(egress_open(allow, &egress, &call.err), 0);
    egress_set_deadlines(egress, 500, 500);
    call.rc = egress_post(egress, &request, &call.answer, &call.err);
    egress_close(egress);
    return call;
}

/* One answer of a receiver that gave this text. */
static struct call post_once(const char *text)
{
    struct receiver receiver;
    receiver_start(&receiver, text);
    char *url = mem_format("http://127.0.0.1:%d/hook", receiver.port);
    struct call call = post_to("127.0.0.0/8", url, NULL, 0);
    free(url);
    receiver_stop(&receiver);
    return call;
}

static void a_receiver_gets_the_body_and_its_answer_comes_back(void **state)
{
    (void)state;
    static const char *const headers[] = {"webhook-id: 17", "X-Test: yes"};
    struct receiver receiver;
    receiver_start(&receiver, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    char *url = mem_format("http://127.0.0.1:%d/hook?x=1", receiver.port);
    struct call call = post_to("127.0.0.0/8", url, headers, 2);
    assert_int_equal(call.rc, 0);
    assert_int_equal(call.answer.status, 200);
    assert_string_equal(call.answer.body, "ok");
    assert_int_equal(call.answer.retry_after_s, -1);
    const char *request = buf_text(&receiver.request);
    assert_int_equal(strncmp(request, "POST /hook?x=1 HTTP/1.1\r\n", 25), 0);
    assert_non_null(strstr(request, "\r\nContent-Type: application/json\r\n"));
    assert_non_null(strstr(request, "\r\nwebhook-id: 17\r\n"));
    assert_non_null(strstr(request, "\r\nX-Test: yes\r\n"));
    assert_non_null(strstr(request, "\r\n\r\n{\"a\":1}"));
    assert_null(strcasestr(request, "\r\nExpect:"));
    free(url);
    egress_answer_fini(&call.answer);
    receiver_stop(&receiver);
}

static void any_status_is_an_answer(void **state)
{
    (void)state;
    static const int statuses[] = {200, 202, 204, 301, 302, 307, 308,
                                   400, 401, 404, 410, 429, 500, 503};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        char *text = mem_format("HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n", statuses[i]);
        struct call call = post_once(text);
        assert_int_equal(call.rc, 0);
        assert_int_equal(call.answer.status, statuses[i]);
        assert_string_equal(call.answer.body, "");
        egress_answer_fini(&call.answer);
        free(text);
    }
}

static void a_redirect_is_not_followed(void **state)
{
    (void)state;
    struct receiver target;
    receiver_start(&target, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    char *text = mem_format("HTTP/1.1 307 Elsewhere\r\nLocation: http://127.0.0.1:%d/\r\n"
                            "Content-Length: 0\r\n\r\n",
                            target.port);
    struct call call = post_once(text);
    assert_int_equal(call.rc, 0);
    assert_int_equal(call.answer.status, 307);
    assert_int_equal(atomic_load(&target.connections), 0);
    egress_answer_fini(&call.answer);
    free(text);
    receiver_stop(&target);
}

static void retry_after_is_read_as_seconds_or_date(void **state)
{
    (void)state;
    char date[64];
    time_t soon = time(NULL) + 100;
    struct tm parts;
    assert_non_null(gmtime_r(&soon, &parts));
    assert_true(strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts) > 0);
    const struct {
        const char *value;
        int64_t least, most;
    } cases[] = {
        {"7", 7, 7},
        {"0", 0, 0},
        {"3600", 3600, 3600},
        {date, 80, 100},
        {"Mon, 01 Jan 2001 00:00:00 GMT", 0, 0},
        {"soon", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = mem_format("HTTP/1.1 429 Slow down\r\nRetry-After: %s\r\n"
                                "Content-Length: 0\r\n\r\n",
                                cases[i].value);
        struct call call = post_once(text);
        assert_int_equal(call.rc, 0);
        assert_int_equal(call.answer.status, 429);
        assert_in_range(call.answer.retry_after_s, cases[i].least, cases[i].most);
        egress_answer_fini(&call.answer);
        free(text);
    }
}

static void a_huge_body_is_cut_and_the_rest_is_not_read(void **state)
{
    (void)state;
    struct receiver receiver;
    struct buf text = {0};
    buf_add(&text, "HTTP/1.1 200 OK\r\n\r\n");
    for (int i = 0; i < 1000; i++)
        buf_add_char(&text, 'x');
    receiver_start(&receiver, buf_text(&text));
    receiver.repeats = 1000000; /* a gigabyte, were it read */
    char *url = mem_format("http://127.0.0.1:%d/", receiver.port);
    struct call call = post_to("127.0.0.0/8", url, NULL, 0);
    assert_int_equal(call.rc, 0);
    assert_int_equal(call.answer.status, 200);
    assert_int_equal(strlen(call.answer.body), LIMIT_ANSWER_BYTES);
    egress_answer_fini(&call.answer);
    free(url);
    buf_fini(&text);
    receiver_stop(&receiver);
}

static void an_answer_with_too_many_headers_is_given_up(void **state)
{
    (void)state;
    struct buf text = {0};
    buf_add(&text, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < LIMIT_HEADERS_IN + 1; i++)
        buf_format(&text, "X-%d: y\r\n", i);
    buf_add(&text, "Content-Length: 0\r\n\r\n");
    struct call call = post_once(buf_text(&text));
    assert_int_equal(call.rc, -1);
    assert_int_equal(call.err.code, ERR_UNREACHABLE);
    buf_fini(&text);
}

static void a_receiver_that_never_answers_is_given_up(void **state)
{
    (void)state;
    struct receiver receiver;
    receiver_start(&receiver, NULL);
    char *url = mem_format("http://127.0.0.1:%d/secret-part", receiver.port);
    int64_t begun = clock_mono_ns();
    struct call call = post_to("127.0.0.0/8", url, NULL, 0);
    assert_int_equal(call.rc, -1);
    assert_int_equal(call.err.code, ERR_UNREACHABLE);
    assert_in_range((clock_mono_ns() - begun) / 1000000, 400, 10000);
    assert_null(strstr(call.err.msg, "secret-part"));
    assert_int_equal(call.answer.status, -7); /* untouched */
    free(url);
    receiver_stop(&receiver);
}

static void an_answer_that_is_no_http_is_no_answer(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "SSH-2.0-OpenSSH_9.2\r\n", "just a body",
                                        "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct call call = post_once(texts[i]);
        assert_int_equal(call.rc, -1);
        assert_int_equal(call.err.code, ERR_UNREACHABLE);
    }
}

static void a_closed_port_is_unreachable(void **state)
{
    (void)state;
    struct receiver receiver;
    receiver_start(&receiver, "");
    char *url = mem_format("http://127.0.0.1:%d/", receiver.port);
    receiver_stop(&receiver);
    struct call call = post_to("127.0.0.0/8", url, NULL, 0);
    assert_int_equal(call.rc, -1);
    assert_int_equal(call.err.code, ERR_UNREACHABLE);
    free(url);
}

/* --- what may be reached ------------------------------------------------------------------------
 */

static void inside_addresses_are_refused_in_every_spelling(void **state)
{
    (void)state;
    static const char *const hosts[] = {
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "169.254.169.254",
        "2852039166",
        "100.64.0.1",
        "[::1]",
        "[::]",
        "[::ffff:7f00:1]",
        "[::ffff:127.0.0.1]",
        "[::7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fd00::1]",
        "[fe80::1]",
        "localhost",
        "LOCALHOST",
        "255.255.255.255",
        "224.0.0.1",
        "[2001:0:7f00:1::]",
        "[2001:db8::1]",
        "192.0.2.1",
        "198.18.0.1",
    };
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        char *url = mem_format("http://%s:9/", hosts[i]);
        struct call call = post_to("", url, NULL, 0);
        assert_int_equal(call.rc, -1);
        assert_int_equal(call.err.code, ERR_REFUSED);
        free(url);
    }
    print_message("%zu spellings of hosts inside: each refused\n", sizeof hosts / sizeof hosts[0]);
}

static void the_allow_list_opens_a_network_or_a_host(void **state)
{
    (void)state;
    static const struct {
        const char *allow, *host;
        bool reached;
    } cases[] = {
        {"127.0.0.0/8", "127.0.0.1", true},  {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "0x7f.1", true},       {" 10.0.0.0/8 ,\t127.0.0.0/8,", "127.0.0.1", true},
        {"localhost", "localhost", true},    {"LocalHost", "lOCALhOST", true},
        {"::/0", "127.0.0.1", false},        {"127.0.0.2", "127.0.0.1", false},
        {"10.0.0.0/8", "127.0.0.1", false},  {"localhost", "127.0.0.1", false},
        {"localhos", "localhost", false},    {"ocalhost", "localhost", false},
        {"example.net", "localhost", false}, {"", "localhost", false},
    };
    struct receiver receiver;
    receiver_start(&receiver, "HTTP/1.1 204 No Content\r\n\r\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *url = mem_format("http://%s:%d/", cases[i].host, receiver.port);
        struct call call = post_to(cases[i].allow, url, NULL, 0);
        assert_int_equal(call.rc, cases[i].reached ? 0 : -1);
        if (!cases[i].reached)
            assert_int_equal(call.err.code, ERR_REFUSED);
        egress_answer_fini(&call.answer);
        free(url);
    }
    assert_int_equal(atomic_load(&receiver.connections), 6);
    receiver_stop(&receiver);
}

static void a_proxy_of_the_environment_is_not_used(void **state)
{
    (void)state;
    struct receiver proxy;
    receiver_start(&proxy, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    char *address = mem_format("http://127.0.0.1:%d", proxy.port);
    assert_int_equal(setenv("http_proxy", address, 1), 0);
    assert_int_equal(setenv("all_proxy", address, 1), 0);
    struct call call = post_to("127.0.0.0/8", "http://10.0.0.1:9/", NULL, 0);
    assert_int_equal(call.rc, -1);
    assert_int_equal(call.err.code, ERR_REFUSED);
    assert_int_equal(atomic_load(&proxy.connections), 0);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(unsetenv("all_proxy"), 0);
    free(address);
    receiver_stop(&proxy);
}

static void a_mistyped_allow_list_is_refused(void **state)
{
    (void)state;
    static const char *const lists[] = {"10.0.0.0/33", "10.0.0.1/8", "300.1.1.1",
                                        "a b",         "http://x",   "*.example",
                                        "[::1]",       "host:80",    "10.0.0.0/8,fd00::/129"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        struct egress *egress = NULL;
        struct err err;
        assert_int_equal(egress_open(lists[i], &egress, &err), -1);
        assert_int_equal(err.code, ERR_INPUT);
        assert_null(egress);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receiver_gets_the_body_and_its_answer_comes_back),
        cmocka_unit_test(any_status_is_an_answer),
        cmocka_unit_test(a_redirect_is_not_followed),
        cmocka_unit_test(retry_after_is_read_as_seconds_or_date),
        cmocka_unit_test(a_huge_body_is_cut_and_the_rest_is_not_read),
        cmocka_unit_test(an_answer_with_too_many_headers_is_given_up),
        cmocka_unit_test(a_receiver_that_never_answers_is_given_up),
        cmocka_unit_test(an_answer_that_is_no_http_is_no_answer),
        cmocka_unit_test(a_closed_port_is_unreachable),
        cmocka_unit_test(inside_addresses_are_refused_in_every_spelling),
        cmocka_unit_test(the_allow_list_opens_a_network_or_a_host),
        cmocka_unit_test(a_proxy_of_the_environment_is_not_used),
        cmocka_unit_test(a_mistyped_allow_list_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
