/* Idempotency keys, trials, reports, intents, webhooks and the outbox, operation by operation. */
#include "server/clock.h"
#include "server/db_driver.h"
#include "server/ids.h"
#include "server/mem.h"
#include "server/store_rows.h"
#include "tests/store_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- idempotency keys, trials, reports, intents --------------------------------------------- */

static void a_key_is_claimed_once_and_then_names_its_job(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    char *job = NULL;
    char *fingerprint = NULL;
    assert_int_equal(store_key_claim(db, "k", "f1", "j1", 1000, &job, &fingerprint, &err), 1);
    assert_null(job);
    assert_int_equal(store_key_claim(db, "k", "f2", "j2", 2000, &job, &fingerprint, &err), 0);
    assert_string_equal(job, "j1");
    assert_string_equal(fingerprint, "f1");
    free(job);
    free(fingerprint);
    kit_ok(store_key_expire(db, 1000, &err), &err);
    job = fingerprint = NULL;
    assert_int_equal(store_key_claim(db, "k", "f2", "j2", 2000, &job, &fingerprint, &err), 0);
    free(job);
    free(fingerprint);
    kit_ok(store_key_expire(db, 1001, &err), &err);
    assert_int_equal(store_key_claim(db, "k", "f2", "j2", 2000, &job, &fingerprint, &err), 1);
}

static void thousands_of_old_keys_expire_and_young_ones_stay(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    char *job = NULL;
    char *fingerprint = NULL;
    kit_ok(db_run_all(db, SQL_TX_BEGIN, &err), &err);
    for (int i = 0; i < 2500; i++) {
        char *key = mem_format("key-%d", i);
        assert_int_equal(
            store_key_claim(db, key, "f", "j", i < 2400 ? 10 : 20, &job, &fingerprint, &err), 1);
        free(key);
    }
    kit_ok(store_key_expire(db, 20, &err), &err);
    assert_int_equal(store_key_claim(db, "key-2399", "f", "j", 30, &job, &fingerprint, &err), 1);
    assert_int_equal(store_key_claim(db, "key-2400", "f", "j", 30, &job, &fingerprint, &err), 0);
    free(job);
    free(fingerprint);
    kit_ok(db_run_all(db, SQL_TX_COMMIT, &err), &err);
}

static void free_documents(char **documents, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(documents[i]);
    free(documents);
}

static void trials_are_listed_oldest_first_and_none_counts_twice(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    kit_put_instance(db, "sql01");
    char *id = kit_put_job(db, "sql01", 5, true);
    for (int64_t seq = 0; seq < 12; seq++) {
        char *document = mem_format("{\"seq\":%d}", (int)seq);
        kit_ok(store_trial_insert(db, id, seq, document, &err), &err);
        free(document);
    }
    assert_int_equal(store_trial_insert(db, id, 7, "{}", &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(store_trial_insert(db, "no-such-job", 1, "{}", &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    char **documents = NULL;
    size_t count = 0;
    struct store_list page = {.limit = 3, .after = "8"};
    kit_ok(store_trial_list(db, id, &page, &documents, &count, &err), &err);
    assert_int_equal(count, 3);
    assert_string_equal(documents[0], "{\"seq\":9}");
    free_documents(documents, count);
    kit_ok(store_trial_all(db, id, &documents, &count, &err), &err);
    assert_int_equal(count, 12);
    assert_string_equal(documents[0], "{\"seq\":0}");
    free_documents(documents, count);
    page.after = "x";
    assert_int_equal(store_trial_list(db, id, &page, &documents, &count, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    free(id);
}

static void a_report_is_put_and_replaced(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    char *document = NULL;
    kit_put_instance(db, "sql01");
    char *id = kit_put_job(db, "sql01", 5, true);
    assert_int_equal(store_report_get(db, id, &document, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    kit_ok(store_report_put(db, id, "{\"r\":1}", &err), &err);
    kit_ok(store_report_put(db, id, "{\"r\":2}", &err), &err);
    kit_ok(store_report_get(db, id, &document, &err), &err);
    assert_string_equal(document, "{\"r\":2}");
    free(document);
    free(id);
}

static void evidence_is_kept_beside_the_report_of_its_job(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    char *document = NULL;
    kit_put_instance(db, "sql01");
    char *id = kit_put_job(db, "sql01", 5, true);
    char *other = kit_put_job(db, "sql01", 5, true);
    assert_int_equal(store_evidence_get(db, id, &document, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    kit_ok(store_evidence_put(db, id, "{\"e\":1}", &err), &err);
    kit_ok(store_evidence_get(db, id, &document, &err), &err);
    assert_string_equal(document, "{\"e\":1}");
    free(document);
    assert_int_equal(store_evidence_get(db, other, &document, &err), -1);
    assert_int_equal(store_evidence_put(db, "no job", "{}", &err), -1);
    free(other);
    free(id);
}

static size_t count_intents(struct db *db, const char *job, const char *instance, const char *state)
{
    struct err err = {0};
    struct intent_row *rows = NULL;
    size_t count = 0;
    kit_ok(store_intent_list(db, job, instance, state, &rows, &count, &err), &err);
    for (size_t i = 1; i < count; i++)
        assert_true(strcmp(rows[i - 1].id, rows[i].id) < 0);
    for (size_t i = 0; i < count; i++)
        intent_row_fini(&rows[i]);
    free(rows);
    return count;
}

static void intents_are_found_by_job_and_by_instance(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    for (int i = 0; i < 6; i++) {
        struct intent_row row = {.id = mem_format("i%d", i),
                                 .job = mem_copy(i < 4 ? "j1" : "j2"),
                                 .instance = mem_copy("sql01"),
                                 .action = mem_copy("file"),
                                 .object = mem_copy("/x"),
                                 .state = mem_copy("open")};
        kit_ok(store_intent_insert(db, &row, &err), &err);
        intent_row_fini(&row);
    }
    kit_ok(store_intent_close(db, "i0", "undone", NULL, &err), &err);
    kit_ok(store_intent_close(db, "i1", "failed", "not there", &err), &err);
    assert_int_equal(store_intent_close(db, "i9", "undone", NULL, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_int_equal(count_intents(db, "j1", NULL, NULL), 4);
    assert_int_equal(count_intents(db, "j1", NULL, "open"), 2);
    assert_int_equal(count_intents(db, NULL, "sql01", NULL), 6);
    assert_int_equal(count_intents(db, NULL, "sql01", "open"), 4);
    assert_int_equal(count_intents(db, NULL, "sql01", "failed"), 1);
    assert_int_equal(count_intents(db, NULL, "sql02", "open"), 0);
}

/* --- webhooks and deliveries ---------------------------------------------------------------- */

static void put_webhook(struct db *db, const char *name)
{
    struct err err = {0};
    bool created = false;
    struct webhook_row row = {
        .name = mem_copy(name), .definition = mem_copy("{}"), .url_sealed = mem_copy("sealed")};
    kit_ok(store_webhook_put(db, &row, -1, &created, &err), &err);
    webhook_row_fini(&row);
}

static void put_delivery(struct db *db, const char *id, const char *webhook, int64_t next_at)
{
    struct err err = {0};
    struct delivery_row row = {.id = mem_copy(id),
                               .webhook = mem_copy(webhook),
                               .event = mem_copy("job.finished"),
                               .payload = mem_copy("{}"),
                               .state = mem_copy("pending"),
                               .next_at = next_at};
    kit_ok(store_delivery_insert(db, &row, &err), &err);
    delivery_row_fini(&row);
}

static void free_deliveries(struct delivery_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        delivery_row_fini(&rows[i]);
    free(rows);
}

static void a_webhook_is_put_disabled_and_deleted_with_its_deliveries(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    struct webhook_row row = {0};
    struct webhook_row *rows = NULL;
    size_t count = 0;
    bool created = true;
    put_webhook(db, "chat");
    put_delivery(db, "d1", "chat", 1);
    kit_ok(store_webhook_disable(db, "chat", &err), &err);
    kit_ok(store_webhook_get(db, "chat", &row, &err), &err);
    assert_true(row.disabled);
    assert_int_equal(row.version, 2);
    row.disabled = false;
    assert_int_equal(store_webhook_put(db, &row, 1, &created, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    kit_ok(store_webhook_put(db, &row, 2, &created, &err), &err);
    assert_false(created);
    webhook_row_fini(&row);
    struct store_list page = {.limit = 10};
    kit_ok(store_webhook_list(db, &page, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].url_sealed, "sealed");
    webhook_row_fini(&rows[0]);
    free(rows);
    assert_int_equal(store_webhook_delete(db, "chat", 1, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    kit_ok(store_webhook_delete(db, "chat", 3, &err), &err);
    assert_int_equal(store_webhook_delete(db, "chat", -1, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    struct delivery_row delivery = {0};
    assert_int_equal(store_delivery_get(db, "d1", &delivery, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
}

static void due_deliveries_are_one_a_webhook_oldest_first(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    struct delivery_row *rows = NULL;
    size_t count = 0;
    put_webhook(db, "a");
    put_webhook(db, "b");
    put_webhook(db, "off");
    kit_ok(store_webhook_disable(db, "off", &err), &err);
    put_delivery(db, "d1", "a", 30);
    put_delivery(db, "d2", "a", 20);
    put_delivery(db, "d3", "b", 10);
    put_delivery(db, "d4", "b", 99);
    put_delivery(db, "d5", "off", 1);
    kit_ok(store_delivery_due(db, 9, 10, &rows, &count, &err), &err);
    assert_int_equal(count, 0);
    free_deliveries(rows, count);
    kit_ok(store_delivery_due(db, 30, 10, &rows, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].id, "d3");
    assert_string_equal(rows[1].id, "d2");
    mem_replace(&rows[0].state, "delivered");
    rows[0].attempts = 1;
    rows[0].last_status = 204;
    kit_ok(store_delivery_update(db, &rows[0], &err), &err);
    free_deliveries(rows, count);
    kit_ok(store_delivery_due(db, 30, 1, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].id, "d2");
    free_deliveries(rows, count);
    struct delivery_row row = {0};
    kit_ok(store_delivery_get(db, "d3", &row, &err), &err);
    assert_int_equal(row.last_status, 204);
    delivery_row_fini(&row);
    struct store_list page = {.limit = 10, .after = "d4"};
    kit_ok(store_delivery_list(db, "b", &page, &rows, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].id, "d3");
    free_deliveries(rows, count);
}

static void what_is_due_later_comes_last_and_is_seen_too(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    struct delivery_row *rows = NULL;
    size_t count = 0;
    put_webhook(db, "a");
    put_webhook(db, "b");
    put_delivery(db, "d1", "a", 70);
    put_delivery(db, "d2", "a", 60);
    put_delivery(db, "d3", "b", 50);
    kit_ok(store_delivery_due(db, INT64_MAX, 10, &rows, &count, &err), &err);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].id, "d3");
    assert_string_equal(rows[1].id, "d2");
    free_deliveries(rows, count);
}

/* A try that was under way when somebody asked for the delivery anew decides nothing. */
static void a_delivery_asked_for_anew_is_due_with_all_its_tries(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    struct delivery_row row = {0};
    struct delivery_row again = {0};
    put_webhook(db, "a");
    put_delivery(db, "d1", "a", 10);
    kit_ok(store_delivery_get(db, "d1", &row, &err), &err);
    for (row.attempts = 1; row.attempts < 3; row.attempts++)
        kit_ok(store_delivery_update(db, &row, &err), &err);
    kit_ok(store_delivery_again(db, "d1", 77, &err), &err);
    mem_replace(&row.state, "dead");
    assert_int_equal(store_delivery_update(db, &row, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    kit_ok(store_delivery_get(db, "d1", &again, &err), &err);
    assert_string_equal(again.state, "pending");
    assert_int_equal(again.attempts, 0);
    assert_int_equal(again.next_at, 77);
    assert_int_equal(store_delivery_again(db, "no", 77, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    delivery_row_fini(&row);
    delivery_row_fini(&again);
}

static void an_outage_is_told_once_to_each_webhook(void **state)
{
    struct db *db = kit_db(state);
    struct err err = {0};
    put_webhook(db, "a");
    put_webhook(db, "b");
    kit_put_instance(db, "one");
    kit_put_instance(db, "two");
    static const struct {
        const char *instance, *webhook; /* NULL: the outage ends */
        bool first;
    } steps[] = {
        {"one", "a", true},   {"one", "a", false}, {"one", "b", true},  {"two", "a", true},
        {"one", NULL, false}, {"one", "a", true},  {"two", "a", false},
    };
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        bool first = !steps[i].first;
        if (!steps[i].webhook) {
            kit_ok(store_outage_end(db, steps[i].instance, &err), &err);
            continue;
        }
        kit_ok(store_outage_tell(db, steps[i].instance, steps[i].webhook, 1, &first, &err), &err);
        assert_int_equal(first, steps[i].first);
    }
    bool first = false;
    assert_int_equal(store_outage_tell(db, "one", "none", 1, &first, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
}

static void a_delivery_to_a_webhook_that_is_not_there_is_a_conflict(void **state)
{
    struct err err = {0};
    struct delivery_row row = {.id = mem_copy("d1"),
                               .webhook = mem_copy("none"),
                               .event = mem_copy("e"),
                               .payload = mem_copy("{}"),
                               .state = mem_copy("pending")};
    assert_int_equal(store_delivery_insert(kit_db(state), &row, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(store_delivery_update(kit_db(state), &row, &err), -1);
    assert_int_equal(err.code, ERR_NOT_FOUND);
    delivery_row_fini(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KIT_TEST(a_key_is_claimed_once_and_then_names_its_job),
        KIT_TEST(thousands_of_old_keys_expire_and_young_ones_stay),
        KIT_TEST(trials_are_listed_oldest_first_and_none_counts_twice),
        KIT_TEST(a_report_is_put_and_replaced),
        KIT_TEST(evidence_is_kept_beside_the_report_of_its_job),
        KIT_TEST(intents_are_found_by_job_and_by_instance),
        KIT_TEST(a_webhook_is_put_disabled_and_deleted_with_its_deliveries),
        KIT_TEST(due_deliveries_are_one_a_webhook_oldest_first),
        KIT_TEST(what_is_due_later_comes_last_and_is_seen_too),
        KIT_TEST(a_delivery_asked_for_anew_is_due_with_all_its_tries),
        KIT_TEST(an_outage_is_told_once_to_each_webhook),
        KIT_TEST(a_delivery_to_a_webhook_that_is_not_there_is_a_conflict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
