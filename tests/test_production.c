/* Production: who may measure there and when, and what makes a test look like it. */
#include "jobs/inside.h"
#include "jobs/measure/production.h"
#include "jobs/scheduler.h"
#include "tests/jobs_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- who may, and when ---------------------------------------------------------------------- */

#define NIGHT                                                                                      \
    "[{'days':['mon','tue','wed','thu','fri','sat','sun'],'from':'01:00','to':'02:00',"            \
    "'time_zone':'UTC'}]"
#define HALF_PAST_ONE INT64_C(1798767000000) /* 2027-01-01T01:30:00Z */
#define NOON INT64_C(1798804800000)

/* One cell of the matrix. */
struct cell {
    bool production, confirmed, windows, inside, ignoring, admin;
};

static struct cell cell_of(int bits)
{
    return (struct cell){bits & 1, bits & 2, bits & 4, bits & 8, bits & 16, bits & 32};
}

/* As a caller of this scope submits it; false when it is refused. */
static bool submit(struct jobs_place *place, const struct cell *cell)
{
    struct jobs jobs = {.parts = place->parts};
    struct submission submission = {0};
    struct json_faults faults = {0};
    struct err err = {0};
    cJSON *body = jobs_kit_json(JOBS_KIT_JOB);
    jobs_kit_set(body, "/confirm_production", cell->confirmed ? "true" : "false");
    jobs_kit_set(body, "/ignore_windows", cell->ignoring ? "true" : "false");
    int rc = jobs_check(&jobs, body, &submission, &faults, &err);
    jobs_kit_expect_none(&faults);
    if (rc < 0)
        assert_int_equal(err.code, ERR_CONFLICT);
    bool taken = rc == 0 && (!submission.admin_only || cell->admin);
    if (taken)
        jobs_place_write(place, jobs_insert_work, &submission);
    submission_fini(&submission);
    cJSON_Delete(body);
    return taken;
}

static bool starts(struct jobs_place *place, const struct cell *cell)
{
    struct claim claim = {.now_ms = cell->inside ? HALF_PAST_ONE : NOON};
    jobs_place_claim(place, &claim);
    if (claim.found)
        job_row_fini(&claim.row);
    return claim.found;
}

static void judge(const struct cell *cell, int *taken, int *started)
{
    struct jobs_place *place = NULL;
    void *state = NULL;
    const char *const instance[] = {"/environment", cell->production ? "'production'" : "'test'",
                                    "/windows", cell->windows ? NIGHT : "[]", NULL};
    bool may = (!cell->production || (cell->confirmed && cell->windows)) &&
               (!cell->ignoring || cell->admin);
    bool may_start = may && (cell->ignoring || cell->inside || !cell->windows);
    (void)jobs_place_set_up(&state);
    place = state;
    jobs_place_put_instance(place, "sql01", instance);
    bool was_taken = submit(place, cell);
    bool was_started = starts(place, cell);
    if (was_taken != may || was_started != may_start)
        fail_msg("production %d, confirmed %d, windows %d, inside %d, ignoring %d, admin %d: "
                 "taken %d, started %d",
                 cell->production, cell->confirmed, cell->windows, cell->inside, cell->ignoring,
                 cell->admin, was_taken, was_started);
    *taken += was_taken;
    *started += was_started;
    (void)jobs_place_tear_down(&state);
}

static void nothing_is_taken_or_started_wrongly(void **state)
{
    (void)state;
    int taken = 0;
    int started = 0;
    for (int bits = 0; bits < 64; bits++) {
        struct cell cell = cell_of(bits);
        judge(&cell, &taken, &started);
    }
    print_message("64 cells: %d taken, %d started, 0 wrongly\n", taken, started);
    assert_int_equal(taken, 30);
    assert_int_equal(started, 24);
}

/* --- what looks like it --------------------------------------------------------------------- */

static void names_are_read_by_words(void **state)
{
    (void)state;
    static const char *const telling[] = {
        "prod",        "sql-prod",      "PROD-SQL01", "sql.prd.example.net", "db_prod_2",
        "sqlhost-prd", "prod01.corp",   "production", "sql-production-3",    "prod\xc3\xa9 prod",
        "pre.x.prod",  "non-x-prod.01",
    };
    static const char *const others[] = {
        "",         "sql01",      "products",  "reproduce", "nonprod",     "non-prod-01",
        "pre-prod", "preprod01",  "not.prod",  "no_prd",    "sqlprodtest", "prod\xc3\xa9",
        "prodigy",  "x-produkt1", "127.0.0.1", "-",
    };
    for (size_t i = 0; i < JSON_COUNT(telling); i++)
        if (!production_name(telling[i]))
            fail_msg("missed: %s", telling[i]);
    for (size_t i = 0; i < JSON_COUNT(others); i++)
        if (production_name(others[i]))
            fail_msg("taken: %s", others[i]);
}

static void an_edition_tells_only_when_it_is_paid_for_and_in_use(void **state)
{
    (void)state;
    static const struct {
        const char *edition;
        int engine;
        int64_t sessions;
        bool seen;
    } cases[] = {
        {"Enterprise Edition (64-bit)", 3, 21, true},
        {"Enterprise Edition: Core-based Licensing (64-bit)", 3, 500, true},
        {"Enterprise Edition (64-bit)", 3, 20, false},
        {"Enterprise Edition (64-bit)", 3, -1, false},
        {"Enterprise Evaluation Edition (64-bit)", 3, 500, false},
        {"Enterprise Developer Edition (64-bit)", 3, 500, false},
        {"Developer Edition (64-bit)", 3, 500, false},
        {"Standard Edition (64-bit)", 2, 500, false},
        {NULL, 3, 500, false},
        {"Enterprise Edition (64-bit)", -1, 500, false},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct production_look look = {.environment = "test",
                                       .edition = cases[i].edition,
                                       .engine_edition = cases[i].engine,
                                       .sessions = cases[i].sessions,
                                       .primaries = -1};
        struct buf text = {0};
        if (production_doubt(&look, &text) != cases[i].seen)
            fail_msg("%s, %d sessions", cases[i].edition, (int)cases[i].sessions);
        buf_fini(&text);
    }
}

/* Each sign seen or not, under each registration, by each name. */
static void each_sign_is_told_and_nothing_else(void **state)
{
    (void)state;
    static const char *const environments[] = {"production", "test", "development"};
    static const char *const words[] = {
        "primary replica of 2 databases",
        "Enterprise Edition with 21 sessions",
        "called sql-prod",
    };
    assert_int_equal(production_sign_count(), JSON_COUNT(words));
    for (size_t environment = 0; environment < JSON_COUNT(environments); environment++)
        for (int bits = 0; bits < 32; bits++) {
            struct production_look look = {.environment = environments[environment],
                                           .primaries = bits & 1 ? 2 : 0,
                                           .edition = "Enterprise Edition",
                                           .engine_edition = 3,
                                           .sessions = bits & 2 ? 21 : 3,
                                           .name = bits & 4 ? "sql-prod" : "sql01",
                                           .host = bits & 8 ? "sql-prod" : NULL,
                                           .host_name = bits & 16 ? "sql-prod" : "HOST"};
            bool seen[] = {bits & 1, bits & 2, bits & (4 | 8 | 16)};
            struct buf text = {0};
            bool doubts = production_doubt(&look, &text);
            assert_int_equal(doubts, environment > 0 && bits != 0);
            for (size_t i = 0; i < JSON_COUNT(words); i++) {
                assert_int_equal(production_sign_is_seen(i, &look), seen[i]);
                assert_int_equal(strstr(buf_text(&text), words[i]) != NULL, doubts && seen[i]);
            }
            if (doubts) {
                assert_non_null(strstr(buf_text(&text), environments[environment]));
                assert_non_null(strstr(buf_text(&text), "\"environment\": \"production\""));
                assert_null(strchr(buf_text(&text), '\n'));
            } else {
                assert_int_equal(text.length, 0);
            }
            buf_fini(&text);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_taken_or_started_wrongly),
        cmocka_unit_test(names_are_read_by_words),
        cmocka_unit_test(an_edition_tells_only_when_it_is_paid_for_and_in_use),
        cmocka_unit_test(each_sign_is_told_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
