#include "jobs/measure/messages.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct {
    const char *text;
    int64_t pages;
    double seconds, rate;
    enum printed_unit unit;
} success_lines[] = {
    /* a server of 2005: decimal megabytes */
    {"BACKUP DATABASE successfully processed 7529 pages in 3.300 seconds (18.688 mb/sec).", 7529,
     3.300, 18.688, UNIT_MB},
    {"BACKUP DATABASE successfully processed 7529 pages in 1.421 seconds (43.399 mb/sec).", 7529,
     1.421, 43.399, UNIT_MB},
    /* 2008 and later: binary */
    {"BACKUP DATABASE successfully processed 454146 pages in 77.311 seconds (45.892 MB/sec).",
     454146, 77.311, 45.892, UNIT_MIB},
    {"BACKUP DATABASE successfully processed 454146 pages in 81.606 seconds (43.477 MB/sec).",
     454146, 81.606, 43.477, UNIT_MIB},
    {"BACKUP DATABASE successfully processed 237509 pages in 48.177 seconds (38.514 MB/sec).",
     237509, 48.177, 38.514, UNIT_MIB},
    {"BACKUP DATABASE successfully processed 237506 pages in 50.774 seconds (36.544 MB/sec).",
     237506, 50.774, 36.544, UNIT_MIB},
    {"BACKUP DATABASE successfully processed 151642 pages in 24.472 seconds (48.410 MB/sec).",
     151642, 24.472, 48.410, UNIT_MIB},
    {"BACKUP DATABASE successfully processed 151642 pages in 24.625 seconds (48.109 MB/sec).",
     151642, 24.625, 48.109, UNIT_MIB},
    {"BACKUP DATABASE successfully processed 585 pages in 0.037 seconds (123.350 MB/sec).", 585,
     0.037, 123.350, UNIT_MIB},
    {"BACKUP DATABASE successfully processed 51650 pages in 3.588 seconds (112.462 MB/sec).", 51650,
     3.588, 112.462, UNIT_MIB},
    {"BACKUP DATABASE successfully processed 151138 pages in 2.558 seconds (461.594 MB/sec).",
     151138, 2.558, 461.594, UNIT_MIB},
    {"RESTORE DATABASE successfully processed 2336 pages in 0.085 seconds (225.087 MB/sec).", 2336,
     0.085, 225.087, UNIT_MB},
    /* other languages, other orders of words; the digits stay */
    {"BACKUP DATABASE procesó correctamente 562 páginas en 0.286 segundos (15.338 MB/s).", 562,
     0.286, 15.338, UNIT_MIB},
    {"BACKUP DATABASE により 562 ページが 0.286 秒間で正常に処理されました (15.338 MB/秒)。", 562,
     0.286, 15.338, UNIT_MIB},
    {"BACKUP DATABASE hat erfolgreich 562 Seiten in 0.286 Sekunden verarbeitet (15.338 MB/s).", 562,
     0.286, 15.338, UNIT_MIB},
    {"BACKUP DATABASE 成功处理了 562 页，花费 0.286 秒(15.338 MB/秒)。", 562, 0.286, 15.338,
     UNIT_MIB},
    {"(0.286 s, 15.338 MB/s) 562", 562, 0.286, 15.338, UNIT_MIB},
    /* short logs: a page more or less may hide the unit */
    {"BACKUP LOG successfully processed 17 pages in 0.004 seconds (31.616 MB/sec).", 17, 0.004,
     31.616, UNIT_MIB},
    {"BACKUP LOG successfully processed 3 pages in 0.005 seconds (3.906 MB/sec).", 3, 0.005, 3.906,
     UNIT_UNKNOWN},
    {"BACKUP LOG successfully processed 3 pages in 0.005 seconds (4.687 MB/sec).", 3, 0.005, 4.687,
     UNIT_UNKNOWN},
    /* nothing read: a success all the same */
    {"BACKUP DATABASE successfully processed 0 pages in 0.009 seconds (0.000 MB/sec).", 0, 0.009, 0,
     UNIT_UNKNOWN},
    {"BACKUP DATABASE successfully processed 0 pages in 300.232 seconds (0.000 MB/sec).", 0,
     300.232, 0, UNIT_UNKNOWN},
    {"BACKUP DATABASE successfully processed 8 pages in 0.000 seconds (0.000 MB/sec).", 8, 0, 0,
     UNIT_UNKNOWN},
    /* 100 TiB in a day: the products need more than 64 bits */
    {"BACKUP DATABASE successfully processed 13421772800 pages in 86400.000 seconds (1213.629 "
     "MB/sec).",
     13421772800, 86400, 1213.629, UNIT_MIB},
};

static void success_is_read_by_its_digits_in_any_language(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(success_lines); i++) {
        struct backup_line line;
        assert_true(message_read_success(success_lines[i].text, &line));
        bool right = line.pages == success_lines[i].pages &&
                     fabs(line.seconds - success_lines[i].seconds) < 1e-9 &&
                     fabs(line.printed_rate - success_lines[i].rate) < 1e-9 &&
                     line.unit == success_lines[i].unit && line.consistent;
        if (!right)
            fail_msg("%s: %lld pages, %f s, %f, unit %d, %s", success_lines[i].text,
                     (long long)line.pages, line.seconds, line.printed_rate, (int)line.unit,
                     line.consistent ? "consistent" : "not consistent");
    }
}

static void a_rate_that_does_not_follow_is_noticed(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "BACKUP DATABASE successfully processed 454146 pages in 77.311 seconds (45.893 MB/sec).",
        "BACKUP DATABASE successfully processed 454146 pages in 77.311 seconds (47.000 MB/sec).",
        "BACKUP DATABASE successfully processed 454146 pages in 77.311 seconds (0.000 MB/sec).",
        "BACKUP DATABASE successfully processed 0 pages in 1.000 seconds (5.000 MB/sec).",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct backup_line line;
        assert_true(message_read_success(texts[i], &line));
        assert_false(line.consistent);
        assert_int_equal(line.unit, UNIT_UNKNOWN);
    }
}

static void several_log_files_are_no_contradiction(void **state)
{
    (void)state;
    /* 1000 pages of which two log files' last pages are almost empty */
    struct backup_line line;
    assert_true(message_read_success("1000 pages in 1.000 seconds (7.798 MB/sec)", &line));
    assert_true(line.consistent);
    assert_int_equal(line.unit, UNIT_MIB);
}

static void words_alone_are_no_success(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "BACKUP DATABASE is terminating abnormally.",
        "BACKUP DATABASE successfully processed pages in seconds (MB/sec).",
        "BACKUP DATABASE successfully processed 562 pages in 0.286 seconds.",
        "BACKUP DATABASE successfully processed pages in 0.286 seconds (15.338 MB/sec).",
        "BACKUP DATABASE successfully processed 562 pages in 0,286 seconds (15,338 MB/sec).",
        "99999999999999999999 pages in 1.000 seconds (1.000 MB/sec)",
        "1 pages in 99999999999999999999.000 seconds (1.000 MB/sec)",
        "1 pages in 9223372036854775807.000 seconds (1.000 MB/sec)",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct backup_line line = {.pages = -7};
        if (message_read_success(texts[i], &line))
            fail_msg("%s", texts[i]);
        assert_true(line.pages == -7);
    }
}

static void progress_is_read_in_any_language(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int percent;
    } cases[] = {
        {"10 percent processed.", 10},
        {"90por ciento procesado.", 90},
        {"100 パーセント処理されました。", 100},
        {"0 Prozent verarbeitet.", 0},
        {"已处理百分之 43。", 43},
        {"101 percent processed.", -1},
        {"percent processed.", -1},
        {"", -1},
        {"12.345 percent", -1},
        {"99999999999999999999 percent", -1},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(message_read_percent(cases[i].text), cases[i].percent);
}

/* --- a whole backup --------------------------------------------------------------------------- */

struct heard {
    int number, severity;
    const char *text;
};

static struct backup_messages listen(const struct heard *heard, size_t count)
{
    struct backup_messages messages = {0};
    for (size_t i = 0; i < count; i++)
        backup_messages_take(&messages, heard[i].number, heard[i].severity, heard[i].text);
    return messages;
}

static void a_good_backup_ends_with_3014(void **state)
{
    (void)state;
    static const struct heard heard[] = {
        {3211, 0, "50 percent processed."},
        {4035, 0, "Processed 560 pages for database 'x 3014', file 'y' on file 1."},
        {3211, 0, "100 percent processed."},
        {3014, 0,
         "BACKUP DATABASE successfully processed 562 pages in 0.286 seconds (15.338 MB/s)."},
    };
    struct backup_messages messages = listen(heard, COUNT(heard));
    assert_true(backup_messages_ok(&messages, true));
    assert_false(backup_messages_ok(&messages, false));
    assert_true(messages.line.pages == 562);
    assert_int_equal(messages.percent, 100);
    assert_int_equal(messages.error_number, 0);
    assert_string_equal(messages.error_text, "");

    messages = listen(heard, 3);
    assert_false(backup_messages_ok(&messages, true));
}

static void the_cause_is_kept_not_that_it_failed(void **state)
{
    (void)state;
    static const struct heard heard[] = {
        {3201, 16, "Cannot open backup device 'D:\\x.bak'. Operating system error 5."},
        {3013, 16, "BACKUP DATABASE is terminating abnormally."},
    };
    struct backup_messages messages = listen(heard, COUNT(heard));
    assert_int_equal(messages.error_number, 3201);
    assert_true(strstr(messages.error_text, "error 5") != NULL);
    assert_int_equal(messages.errors, 2);

    static const struct heard reversed[] = {
        {3013, 16, "BACKUP DATABASE is terminating abnormally."},
        {701, 17, "There is insufficient system memory."},
    };
    messages = listen(reversed, COUNT(reversed));
    assert_int_equal(messages.error_number, 701);

    messages = listen(reversed, 1);
    assert_int_equal(messages.error_number, 3013);
    assert_false(backup_messages_ok(&messages, true));
}

static void an_error_after_the_last_page_is_a_failure(void **state)
{
    (void)state;
    static const struct heard heard[] = {
        {3014, 0,
         "BACKUP DATABASE successfully processed 562 pages in 0.286 seconds (15.338 MB/s)."},
        {3634, 16, "The operating system returned the error '31' while attempting 'SetEndOfFile'."},
    };
    struct backup_messages messages = listen(heard, COUNT(heard));
    assert_true(messages.success_seen);
    assert_false(backup_messages_ok(&messages, true));
    assert_int_equal(messages.error_number, 3634);
}

static void a_success_that_cannot_be_read_has_no_numbers(void **state)
{
    (void)state;
    static const struct heard heard[] = {{3014, 0, "BACKUP DATABASE did well."}};
    struct backup_messages messages = listen(heard, COUNT(heard));
    assert_true(backup_messages_ok(&messages, true));
    assert_true(messages.line.pages == -1);
    assert_true(isnan(messages.line.seconds));
    assert_false(messages.line.consistent);
}

static void a_long_error_is_cut_at_a_character(void **state)
{
    (void)state;
    char text[1000];
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "é", 3);
    struct heard heard = {50000, 16, text};
    struct backup_messages messages = listen(&heard, 1);
    assert_int_equal(strlen(messages.error_text), 478);
    heard.text = text + 2;
    messages = listen(&heard, 1);
    assert_int_equal(strlen(messages.error_text) % 2, 0);
}

static void numbers_are_sorted_into_what_to_do(void **state)
{
    (void)state;
    static const struct {
        int number;
        char kind; /* r refusal, p passing, m memory, - none */
    } cases[] = {
        {18456, 'r'}, {18452, 'r'}, {18486, 'r'}, {18487, 'r'}, {18488, 'r'}, {4060, 'r'},
        {916, 'r'},   {262, 'r'},   {229, 'r'},   {2571, 'r'},  {1205, 'p'},  {1222, 'p'},
        {3023, 'p'},  {701, 'm'},   {802, 'm'},   {8645, 'm'},  {297, '-'},   {300, '-'},
        {911, '-'},   {3201, '-'},  {3013, '-'},  {1844, '-'},  {0, '-'},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(message_is_refusal(cases[i].number), cases[i].kind == 'r');
        assert_int_equal(message_is_passing(cases[i].number), cases[i].kind == 'p');
        assert_int_equal(message_is_memory(cases[i].number), cases[i].kind == 'm');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_is_read_by_its_digits_in_any_language),
        cmocka_unit_test(a_rate_that_does_not_follow_is_noticed),
        cmocka_unit_test(several_log_files_are_no_contradiction),
        cmocka_unit_test(words_alone_are_no_success),
        cmocka_unit_test(progress_is_read_in_any_language),
        cmocka_unit_test(a_good_backup_ends_with_3014),
        cmocka_unit_test(the_cause_is_kept_not_that_it_failed),
        cmocka_unit_test(an_error_after_the_last_page_is_a_failure),
        cmocka_unit_test(a_success_that_cannot_be_read_has_no_numbers),
        cmocka_unit_test(a_long_error_is_cut_at_a_character),
        cmocka_unit_test(numbers_are_sorted_into_what_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
