/* How the HTTP layer holds the check of an instance, on a double of jobs.h. */
#include "tests/http_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define INSTANCE(host)                                                                             \
    "{\"host\":\"" host "\",\"login\":\"sweetspot\","                                              \
    "\"password\":{\"env\":\"SWEETSPOT_SECRET_SQL01\"}}"

static void an_answer_that_does_not_come_is_given_up(void **state)
{
    struct http_kit *kit = *state;
    static const struct line lines[] = {
        {"POST", "/v1/instances/sql01/check", NULL, NULL, 200,
         "{\"reachable\":false,\"error\":{\"number\":null,\"message\":\"the instance did not "
         "answer "
         "within 0.05 s\",\"cause\":\"network\"}}"},
        {"POST", "/v1/instances/sql01/check", NULL, "{}", 200, "\"reachable\":false"},
    };
    SPEAK(kit->port, lines);
    assert_int_equal(fake_jobs_wakes(kit->jobs), 1); /* of the PUT */
}

static void a_good_check_wakes_the_jobs(void **state)
{
    struct http_kit *kit = *state;
    static const struct line lines[] = {
        {"PUT", "/v1/instances/sql02", NULL, INSTANCE("answers"), 201, NULL},
        {"POST", "/v1/instances/sql02/check", NULL, NULL, 200, "{\"reachable\":true}"},
    };
    SPEAK(kit->port, lines);
    assert_int_equal(fake_jobs_wakes(kit->jobs), 3);
}

static void too_many_checks_at_once_are_refused_for_a_while(void **state)
{
    struct http_kit *kit = *state;
    static const struct line lines[] = {
        {"PUT", "/v1/instances/sql02", NULL, INSTANCE("busy"), 201, NULL},
        {"POST", "/v1/instances/sql02/check", NULL, NULL, 503, "too many instances"},
    };
    SPEAK(kit->port, lines);
    struct reply reply = call(kit->port, "POST", "/v1/instances/sql02/check", NULL, NULL);
    assert_string_equal(reply_header(&reply, "Retry-After"), "5");
    reply_fini(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HTTP_TEST(an_answer_that_does_not_come_is_given_up),
        HTTP_TEST(a_good_check_wakes_the_jobs),
        HTTP_TEST(too_many_checks_at_once_are_refused_for_a_while),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
