/* Receivers that mean harm (T-51) and names that change their address (T-50): each call ends by our
 * deadline, holds at most LIMIT_ANSWER_BYTES, and connects to no address that is not allowed. */
#include "server/egress.h"
#include "server/limits.h"
#include "server/mem.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define DEADLINE_MS 400
#define OK "HTTP/1.1 200 OK\r\n"

/* --- names ---------------------------------------------------------------------------------- */

/* What "rebind.example" is at each look-up, in turn; the last one stays. */
static const char *const *answers;
static atomic_int lookups;

typedef int resolver(const char *, const char *, const struct addrinfo *, struct addrinfo **);

/* libcurl's resolver calls this one, in place of the C library's.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): its names are reserved */
int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
    resolver *real = NULL;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    memcpy(&real, &symbol, sizeof real);
    if (!answers || strcmp(node, "rebind.example") != 0)
        return real(node, service, hints, out);
    int index = 0;
    for (int left = atomic_fetch_add(&lookups, 1); left > 0 && answers[index + 1]; left--)
        index++;
    const char *address = answers[index];
    return address[0] ? real(address, service, hints, out) : EAI_AGAIN;
}

/* --- a receiver ----------------------------------------------------------------------------- */

struct receiver {
    int listening;
    int port;
    pthread_t thread;
    void (*serve)(int connection);
    atomic_int connections;
};

static bool say(int connection, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(connection, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

static bool say_text(int connection, const char *text)
{
    return say(connection, text, strlen(text));
}

/* Until the other side is gone. */
static void hold(int connection)
{
    char bytes[4096];
    while (recv(connection, bytes, sizeof bytes, 0) > 0)
        ;
}

static void *receive(void *argument)
{
    struct receiver *receiver = argument;
    for (;;) {
        char bytes[4096];
        int connection = accept4(receiver->listening, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0)
            return NULL; /* receiver_stop has shut it down */
        atomic_fetch_add(&receiver->connections, 1);
        if (recv(connection, bytes, sizeof bytes, 0) > 0)
            receiver->serve(connection);
        (void)close(connection);
    }
}

static void receiver_start(struct receiver *receiver, const char *address,
                           void (*serve)(int connection))
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t length = sizeof at;
    memset(receiver, 0, sizeof *receiver);
    receiver->serve = serve;
    assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
    receiver->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(receiver->listening, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(receiver->listening, (struct sockaddr *)&at, &length), 0);
    assert_int_equal(listen(receiver->listening, 8), 0);
    receiver->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&receiver->thread, NULL, receive, receiver), 0);
}

static void receiver_stop(struct receiver *receiver)
{
    (void)shutdown(receiver->listening, SHUT_RDWR);
    (void)pthread_join(receiver->thread, NULL);
    (void)close(receiver->listening);
}

static int post(struct egress *egress, const char *url, struct egress_answer *answer,
                struct err *err)
{
    struct egress_request request = {
        .url = url, .content_type = "application/json", .body = "{}", .body_length = 2};
    return egress_post(egress, &request, answer, err);
}

/* --- what they do --------------------------------------------------------------------------- */

static void never_answers(int connection)
{
    hold(connection);
}

/* A byte each 50 ms, until the other side is gone. */
static void drips(int connection)
{
    struct pollfd gone = {.fd = connection, .events = POLLIN};
    (void)say_text(connection, OK "Content-Length: 1000000\r\n\r\n");
    while (poll(&gone, 1, 50) == 0 && say(connection, "x", 1))
        ;
}

static void drips_headers(int connection)
{
    struct pollfd gone = {.fd = connection, .events = POLLIN};
    (void)say_text(connection, OK);
    while (poll(&gone, 1, 50) == 0 && say(connection, "x", 1))
        ;
}

static void sends_without_end(int connection)
{
    static const char zeros[65536];
    (void)say_text(connection, OK "Content-Length: 10737418240\r\n\r\n");
    while (say(connection, zeros, sizeof zeros))
        ;
}

static void sends_chunks_without_end(int connection)
{
    (void)say_text(connection, OK "Transfer-Encoding: chunked\r\n\r\n");
    while (say_text(connection, "5\r\nhello\r\n"))
        ;
}

/* What would be gigabytes if anybody unpacked it. */
static void sends_a_packed_bomb(int connection)
{
    static const char packed[60000] = {'\x1f', '\x8b', 8};
    (void)say_text(connection, OK "Content-Encoding: gzip\r\nContent-Length: 60000\r\n\r\n");
    (void)say(connection, packed, sizeof packed);
}

static void sends_headers_without_end(int connection)
{
    (void)say_text(connection, OK);
    while (say_text(connection, "X-Header: x\r\n"))
        ;
}

static void sends_one_header_without_end(int connection)
{
    (void)say_text(connection, OK "X-Header: ");
    while (say_text(connection, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"))
        ;
}

static void sends_trailers_without_end(int connection)
{
    (void)say_text(connection, OK "Transfer-Encoding: chunked\r\n\r\n0\r\n");
    while (say_text(connection, "X-Trailer: x\r\n"))
        ;
}

static void says_continue_without_end(int connection)
{
    while (say_text(connection, "HTTP/1.1 100 Continue\r\n\r\n"))
        ;
}

static void redirects_to_itself(int connection)
{
    (void)say_text(connection, "HTTP/1.1 307 X\r\nLocation: /hook\r\nContent-Length: 0\r\n\r\n");
}

static void redirects_inside(int connection)
{
    (void)say_text(connection, "HTTP/1.1 301 X\r\nLocation: http://169.254.169.254/latest\r\n"
                               "Content-Length: 0\r\n\r\n");
}

static void speaks_no_http(int connection)
{
    (void)say_text(connection, "\x16\x03\x01\x02\xff\xff\xff garbage \r\n\r\n");
}

static void resets_after_ok(int connection)
{
    struct linger at_once = {.l_onoff = 1};
    (void)say_text(connection, OK "Content-Length: 1000\r\n\r\nabc");
    (void)setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void asks_for_an_eternity(int connection)
{
    (void)say_text(connection, "HTTP/1.1 503 X\r\nRetry-After: 1000000000000000000\r\n"
                               "Content-Length: 0\r\n\r\n");
}

static void asks_for_the_past(int connection)
{
    (void)say_text(connection, "HTTP/1.1 429 X\r\nRetry-After: -5\r\nContent-Length: 0\r\n\r\n");
}

/* clang-format off */
static const struct {
    const char *name;
    void (*serve)(int connection);
    const char *scheme;
    long status;        /* 0: there is no answer */
} hostile[] = {
    {"never answers",         never_answers,                "http",  0},
    {"a byte at a time",      drips,                        "http",  0},
    {"headers a byte a time", drips_headers,                "http",  0},
    {"10 GiB",                sends_without_end,            "http",  200},
    {"endless chunks",        sends_chunks_without_end,     "http",  200},
    {"a packed bomb",         sends_a_packed_bomb,          "http",  200},
    {"endless headers",       sends_headers_without_end,    "http",  0},
    {"one endless header",    sends_one_header_without_end, "http",  0},
    {"endless trailers",      sends_trailers_without_end,   "http",  0},
    {"endless 100 Continue",  says_continue_without_end,    "http",  0},
    {"a redirect loop",       redirects_to_itself,          "http",  307},
    {"a redirect inside",     redirects_inside,             "http",  301},
    {"no HTTP",               speaks_no_http,               "http",  0},
    {"no TLS",                speaks_no_http,               "https", 0},
    {"TLS never answered",    never_answers,                "https", 0},
    {"a reset after 200",     resets_after_ok,              "http",  0},
    {"an eternal wait",       asks_for_an_eternity,         "http",  503},
    {"a wait in the past",    asks_for_the_past,            "http",  429},
};
/* clang-format on */

static void each_hostile_receiver_is_given_up_in_time_and_in_little_room(void **state)
{
    (void)state;
    struct egress *egress = NULL;
    struct err err = {0};
    assert_int_equal(egress_open("127.0.0.1", &egress, &err), 0);
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        struct receiver receiver;
        struct egress_answer answer = {0};
        long deadline_ms = hostile[i].status ? 10 * 1000 : DEADLINE_MS; /* what ends by itself */
        egress_set_deadlines(egress, deadline_ms, deadline_ms);
        receiver_start(&receiver, "127.0.0.1", hostile[i].serve);
        char *url = mem_format("%s://127.0.0.1:%d/hook", hostile[i].scheme, receiver.port);
        int rc = post(egress, url, &answer, &err);
        if (rc < 0 && (hostile[i].status != 0 || err.code != ERR_UNREACHABLE))
            fail_msg("%s: %s", hostile[i].name, err.msg);
        if (rc == 0 && answer.status != hostile[i].status)
            fail_msg("%s: %ld", hostile[i].name, answer.status);
        if (rc == 0)
            assert_in_range(strlen(answer.body), 0, LIMIT_ANSWER_BYTES);
        receiver_stop(&receiver);
        if (atomic_load(&receiver.connections) != 1)
            fail_msg("%s: %d connections", hostile[i].name, atomic_load(&receiver.connections));
        egress_answer_fini(&answer);
        free(url);
    }
    print_message("hostile receivers: %zu, each ended by its deadline\n",
                  sizeof hostile / sizeof hostile[0]);
    egress_close(egress);
}

static void a_wait_is_told_as_it_was_asked_for(void **state)
{
    (void)state;
    struct egress *egress = NULL;
    struct err err = {0};
    static const struct {
        void (*serve)(int connection);
        int64_t least, most;
    } cases[] = {{asks_for_an_eternity, 86400, INT64_MAX}, {asks_for_the_past, 0, 0}};
    assert_int_equal(egress_open("127.0.0.1", &egress, &err), 0);
    for (size_t i = 0; i < 2; i++) {
        struct receiver receiver;
        struct egress_answer answer = {0};
        receiver_start(&receiver, "127.0.0.1", cases[i].serve);
        char *url = mem_format("http://127.0.0.1:%d/hook", receiver.port);
        assert_int_equal(post(egress, url, &answer, &err), 0);
        assert_true(answer.retry_after_s >= cases[i].least &&
                    answer.retry_after_s <= cases[i].most);
        receiver_stop(&receiver);
        egress_answer_fini(&answer);
        free(url);
    }
    egress_close(egress);
}

/* --- names that change ---------------------------------------------------------------------- */

static void takes_it(int connection)
{
    (void)say_text(connection, OK "Content-Length: 2\r\n\r\nok");
}

/* 127.0.0.2 stands for a public address: it alone is allowed, and 127.0.0.1 is what is inside. */
static void a_name_that_changes_its_address_is_checked_each_time(void **state)
{
    (void)state;
    static const char *const rebinds[] = {"127.0.0.2", "127.0.0.1", NULL};
    struct receiver outside;
    struct egress *egress = NULL;
    struct egress_answer answer = {0};
    struct err err = {0};
    assert_int_equal(egress_open("127.0.0.2/32", &egress, &err), 0);
    receiver_start(&outside, "127.0.0.2", takes_it);
    char *url = mem_format("http://rebind.example:%d/hook", outside.port);
    answers = rebinds;
    atomic_store(&lookups, 0);
    assert_int_equal(egress_check_target(egress, url, &err), 0); /* a name: nothing to say yet */
    assert_int_equal(post(egress, url, &answer, &err), 0);
    egress_answer_fini(&answer);
    assert_int_equal(post(egress, url, &answer, &err), -1);
    assert_int_equal(err.code, ERR_REFUSED);
    assert_non_null(strstr(err.msg, "loopback"));
    receiver_stop(&outside);
    assert_int_equal(atomic_load(&outside.connections), 1);
    answers = NULL;
    free(url);
    egress_close(egress);
}

static void names_of_inside_addresses_and_no_answer_are_no_way_in(void **state)
{
    (void)state;
    static const struct {
        const char *address; /* "": the resolver fails */
        enum err_code code;
    } cases[] = {
        {"127.0.0.1", ERR_REFUSED},
        {"10.0.0.1", ERR_REFUSED},
        {"169.254.169.254", ERR_REFUSED},
        {"::1", ERR_REFUSED},
        {"::ffff:127.0.0.1", ERR_REFUSED},
        {"64:ff9b::7f00:1", ERR_REFUSED},
        {"fd00::1", ERR_REFUSED},
        {"0.0.0.0", ERR_REFUSED},
        {"", ERR_UNREACHABLE},
    };
    struct receiver inside;
    struct egress *egress = NULL;
    struct err err = {0};
    assert_int_equal(egress_open("127.0.0.2/32", &egress, &err), 0);
    receiver_start(&inside, "127.0.0.1", takes_it);
    char *url = mem_format("http://rebind.example:%d/hook", inside.port);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const only[] = {cases[i].address, NULL};
        struct egress_answer answer = {0};
        answers = only;
        atomic_store(&lookups, 0);
        if (post(egress, url, &answer, &err) == 0 || err.code != cases[i].code)
            fail_msg("%s: %s", cases[i].address, err.msg);
        answers = NULL;
    }
    receiver_stop(&inside);
    assert_int_equal(atomic_load(&inside.connections), 0);
    free(url);
    egress_close(egress);
}

/* --- the end -------------------------------------------------------------------------------- */

static void *abort_soon(void *argument)
{
    egress_abort(argument);
    return NULL;
}

static void a_call_under_way_is_given_up_when_we_stop(void **state)
{
    (void)state;
    struct receiver receiver;
    struct egress *egress = NULL;
    struct egress_answer answer = {0};
    struct err err = {0};
    pthread_t thread;
    assert_int_equal(egress_open("127.0.0.1", &egress, &err), 0);
    receiver_start(&receiver, "127.0.0.1", never_answers);
    char *url = mem_format("http://127.0.0.1:%d/hook", receiver.port);
    assert_int_equal(pthread_create(&thread, NULL, abort_soon, egress), 0);
    assert_int_equal(post(egress, url, &answer, &err), -1);
    assert_int_equal(err.code, ERR_CANCELLED);
    assert_null(strstr(err.msg, "hook"));
    (void)pthread_join(thread, NULL);
    receiver_stop(&receiver);
    free(url);
    egress_close(egress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_hostile_receiver_is_given_up_in_time_and_in_little_room),
        cmocka_unit_test(a_wait_is_told_as_it_was_asked_for),
        cmocka_unit_test(a_name_that_changes_its_address_is_checked_each_time),
        cmocka_unit_test(names_of_inside_addresses_and_no_answer_are_no_way_in),
        cmocka_unit_test(a_call_under_way_is_given_up_when_we_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
