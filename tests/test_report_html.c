/* The report as a page: of each kind, of broken ones, and with texts that would be more. */
#include "jobs/measure/report.h"
#include "server/hash.h"
#include "server/mem.h"
#include "tests/markup.h"
#include "tests/odd_reports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* clang-format off */
#define ARM(name, label, baseline, rate) \
    "{\"arm\":\"" name "\",\"label\":\"" label "\",\"settings\":{\"database\":\"Sales\",\"target\":\"NUL\"}," \
    "\"baseline\":" baseline ",\"n\":5,\"failed\":1,\"contaminated\":0," \
    "\"elapsed_s\":{\"median\":61.2,\"low\":60.8,\"high\":61.9,\"level\":0.9375}," \
    "\"rate_mib_s\":{\"median\":" rate ",\"low\":" rate ",\"high\":" rate ",\"level\":0.9375}," \
    "\"cpu_percent\":{\"median\":41},\"buffer_memory_mib\":50,\"compression_ratio\":3.1," \
    "\"file_bytes\":{\"median\":1048576}}"
#define POINT(arm, x, rate) \
    "{\"arm\":\"" arm "\",\"x\":" x ",\"rate_mib_s\":" rate ",\"low\":" rate ",\"high\":" rate "}"
#define HEAD(kind) \
    "{\"job\":\"0193\",\"kind\":\"" kind "\",\"instance\":{\"name\":\"sql01\",\"version\":\"16.0\"," \
    "\"edition\":\"Developer\",\"platform\":\"Linux\",\"authenticated\":false,\"simulated\":true}," \
    "\"design\":{\"order\":\"abba\",\"seed\":42,\"blocks\":5,\"confidence\":0.95,\"tolerance\":0.02}," \
    "\"warnings\":[\"The server is not authenticated.\"],\"left_behind\":[\"D:\\\\x.bak\"]," \
    "\"chain\":{\"differential_base_unchanged\":true,\"log_chain_unchanged\":false}," \
    "\"baseline\":{\"job\":\"0192\",\"ratio\":0.97,\"low\":0.94,\"high\":1.0,\"verdict\":\"no_difference\"}," \
    "\"arms\":[" ARM("a0", "default", "true", "630") "," ARM("a1", "BUFFERCOUNT=50", "false", "1347") "," \
    ARM("a2", "BUFFERCOUNT=100", "false", "1455") "]," \
    "\"comparisons\":[{\"arm\":\"a2\",\"against\":\"a0\",\"ratio\":2.31,\"low\":2.28,\"high\":2.33," \
    "\"level\":0.95,\"p\":0.00001,\"verdict\":\"faster\"}]"

/* One report a kind, with all that it may hold. */
static const char *const reports[] = {
    HEAD("backup_sweep") ",\"recommendation\":{\"arm\":\"a2\",\"settings\":{\"buffercount\":100},"
    "\"interval\":{\"buffercount\":[100,400],\"compression\":[\"off\",\"on\"]},\"keep_default\":false,\"reason\":\"the cheapest\","
    "\"notes\":[\"a note\"],\"buffer_memory_mib\":100,\"tsql\":\"BACKUP DATABASE [Sales]\\nTO DISK = N'x'\","
    "\"ola\":\"EXECUTE dbo.DatabaseBackup\",\"dbatools\":\"Backup-DbaDatabase\"},"
    "\"pareto\":[\"a1\",\"a2\"],"
    "\"curve\":[" POINT("a0", "null", "630") "," POINT("a2", "100", "1455") "," POINT("a1", "50", "1347") "],"
    "\"confirmation\":{\"target\":\"disk\",\"ratio\":1.8,\"low\":1.7,\"high\":1.9,\"verdict\":\"faster\"}}",
    HEAD("backup_throughput") ",\"bottleneck\":[{\"database\":\"Sales\",\"read_ceiling_mib_s\":630,"
    "\"slowest_drive\":\"D:\",\"files\":[{\"file\":\"Sales\",\"volume\":\"D:\",\"mib_s\":600,\"stall_ms_per_mib\":0.9}],"
    "\"targets\":[{\"name\":\"disk\",\"rate_mib_s\":575,\"fraction_of_ceiling\":0.91,\"verdict\":\"write\","
    "\"evidence\":[\"it waited\"],\"advice\":[\"a faster disk\"]}]}]}",
    HEAD("trace_flag") ",\"overhead\":[{\"database\":\"Sales\",\"flag\":3042,\"ratio\":1.056,\"low\":1.05,"
    "\"high\":1.06,\"level\":0.95,\"ratio_elapsed\":1.05,\"compression\":\"on\",\"verdict\":\"slower\","
    "\"compression_ratio\":{\"off\":3,\"on\":3.1},\"file_bytes\":{\"off\":1048576,\"on\":1048576},"
    "\"peak_file_bytes\":{\"off\":3145728,\"on\":1048576}}]}",
    HEAD("snapshot_overhead") ",\"overhead\":[{\"location\":\"SSD\",\"snapshots\":2,\"ratio\":1.1,\"low\":1.0,"
    "\"high\":1.2,\"verdict\":\"slower\"}],\"snapshot_cost\":[{\"location\":\"SSD\",\"words\":\"the first adds 1 s\"}]}",
    HEAD("backup_history") ",\"history\":[{\"database\":\"Sales\",\"type\":\"full\",\"n\":30,"
    "\"logical_mib_s\":{\"median\":812,\"p5\":700,\"p95\":900,\"low\":700,\"high\":800},"
    "\"device_mib_s\":{\"median\":200,\"p5\":150,\"p95\":250},\"ratio\":4.49,"
    "\"trend\":{\"percent_per_month\":1.2,\"low\":0.4,\"high\":2.0}}],"
    "\"excluded\":[{\"reason\":\"copy_only\",\"n\":3}]}",
};
/* clang-format on */

static char *page_of(const char *text)
{
    cJSON *report = cJSON_Parse(text);
    assert_non_null(report);
    char *page = report_html(report);
    cJSON_Delete(report);
    return page;
}

static void only_a_setting_with_rivals_has_a_range(void **state)
{
    static const struct {
        const char *interval, *words; /* words NULL: nothing is said */
    } cases[] = {
        {"{\"buffercount\":[50,50]}", NULL},
        {"{\"buffercount\":[50,50],\"compression\":[\"on\",\"on\"]}", NULL},
        {"{}", NULL},
        {"{\"buffercount\":[50,50],\"files\":[1,4]}", "best: files 1 to 4."},
        {"{\"buffercount\":[50,100],\"files\":[1,4]}",
         "best: buffercount 50 to 100, files 1 to 4."},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = mem_format(
            "%s,\"recommendation\":{\"arm\":\"a2\",\"interval\":%s,\"reason\":\"cheap\"}}",
            HEAD("backup_sweep"), cases[i].interval);
        char *page = page_of(text);
        const char *found = strstr(page, cases[i].words ? cases[i].words : "cannot tell apart");
        if ((found != NULL) != (cases[i].words != NULL))
            fail_msg("%s in %s", cases[i].interval, page);
        free(page);
        free(text);
    }
}

static void assert_order(const char *page, const char *const *pieces, size_t count)
{
    const char *at = page;
    for (size_t i = 0; i < count; i++) {
        const char *found = strstr(at, pieces[i]);
        if (!found)
            fail_msg("\"%s\" is missing or too early in:\n%s", pieces[i], page);
        else
            at = found + 1;
    }
}

/* --- what it says ----------------------------------------------------------------------------- */

static void the_page_of_a_sweep_reads_from_top_to_bottom(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "<title>Backup settings on sql01 – Sweetspot</title>",
        "<h1><strong>BUFFERCOUNT=100</strong> reads 2.31 times as fast as the default (95 % "
        "interval "
        "2.28 to 2.33) and takes 100 MiB of buffers.",
        "</h1>",
        "<strong>SIMULATED SERVER.</strong>",
        "<dt>Instance</dt><dd>sql01</dd>",
        "<dt>Database</dt><dd>Sales</dd>",
        "<dd>16.0, Developer, Linux, not authenticated</dd>",
        "<svg ",
        "<h2>Recommendation</h2>",
        "buffercount 100 to 400, compression off to on.",
        "<figcaption>T-SQL</figcaption><pre><code>BACKUP DATABASE [Sales]\nTO DISK = N&#39;x&#39;",
        "<h2>Settings</h2>",
        "<th scope=\"col\" role=\"columnheader\">setting</th>",
        "<tr role=\"row\" class=\"chosen\"><th scope=\"row\" role=\"rowheader\">BUFFERCOUNT=100 "
        "<span "
        "class=\"tag\">recommended</span></th>",
        "<td role=\"cell\" data-title=\"CPU\" class=\"number\">41 %</td>",
        "<h2>Comparisons</h2>",
        "&lt; 0.0001",
        "<span class=\"good\">faster</span>",
        "<h2>Worth their price</h2>",
        "<h2>Sizes</h2>",
        "<h2>Confirmation</h2>",
        "<h2>Against an earlier job</h2>",
        "<span class=\"same\">no difference</span>",
        "<h2>Warnings</h2>",
        "<h2>Left behind</h2>",
        "<li>D:\\x.bak</li>",
        "The differential base is unchanged. <strong>The log chain changed during the job.",
        "Design: 5 blocks in the order A B B A, seed 42",
        "</html>\n",
    };
    char *page = page_of(reports[0]);
    assert_order(page, pieces, COUNT(pieces));
    free(page);
}

static void each_kind_has_its_own_parts(void **state)
{
    (void)state;
    static const char *const pieces[COUNT(reports)] = {
        "<h2>Confirmation</h2>",
        "<h1><strong>Sales</strong> to disk: <strong>writing</strong> limits (91 % of what reading "
        "alone gives).</h1>",
        "<h1>Trace flag 3042 makes compressed backups of Sales 5.6 % slower (95 % interval +5.0 % "
        "to "
        "+6.0 %).</h1>",
        "<h1>With <strong>2 snapshots at SSD</strong> it runs 10.0 % slower (times in proportion: "
        "1.00 "
        "to 1.20).</h1>",
        "<h1><strong>30 recorded backups</strong> in 1 series.</h1>",
    };
    for (size_t i = 0; i < COUNT(reports); i++) {
        char *page = page_of(reports[i]);
        markup_check(page);
        assert_order(page, &pieces[i], 1);
        free(page);
    }
}

static void a_page_brings_its_style_and_allows_nothing_else(void **state)
{
    (void)state;
    char hash[HASH_BASE64_SIZE];
    struct buf policy = {0};
    char *page = page_of(reports[0]);
    char *style = strstr(page, "<style>") + strlen("<style>");
    char *end = strstr(style, "</style>");
    *end = '\0';
    char *wanted = mem_format("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; "
                              "form-action 'none'",
                              hash_base64(style, hash));
    report_page_policy(&policy);
    assert_string_equal(buf_text(&policy), wanted);
    *end = '<';
    assert_null(strstr(page, "url("));
    assert_null(strstr(page, "@import"));
    assert_null(strstr(page, "style="));
    assert_non_null(strstr(page, "http-equiv=\"Content-Security-Policy\" content=\"default-src "));
    free(wanted);
    buf_fini(&policy);
    free(page);
}

/* --- the picture ------------------------------------------------------------------------------ */

static size_t count_of(const char *text, const char *piece)
{
    size_t count = 0;
    for (const char *at = strstr(text, piece); at; at = strstr(at + 1, piece))
        count++;
    return count;
}

static void the_curve_has_its_intervals_and_is_told_in_words(void **state)
{
    (void)state;
    char *page = page_of(reports[0]);
    static const char *const pieces[] = {
        "role=\"img\" aria-labelledby=\"curve-title curve-description\"",
        "<title id=\"curve-title\">",
        "<desc id=\"curve-description\">50 gives 1347 MiB/s, 100 gives 1455 MiB/s (recommended). "
        "The "
        "default gives 630 MiB/s.</desc>",
        ">1500</text>",
        ">BUFFERCOUNT</text>",
        "class=\"default\"",
        "<polygon class=\"band\" points=\"64.0,",
        "class=\"ring\" cx=\"412.0\"",
    };
    assert_order(page, pieces, COUNT(pieces));
    assert_int_equal(count_of(page, "class=\"point\""), 2);
    assert_null(strstr(page, "class=\"legend\""));
    free(page);
}

/* A sweep of `series` block sizes with two numbers of buffers each. */
static cJSON *sweep_of(int series)
{
    cJSON *report = cJSON_Parse(reports[0]);
    cJSON *arms = cJSON_CreateArray();
    cJSON *curve = cJSON_CreateArray();
    for (int i = 0; i < 2 * series; i++) {
        char *arm = mem_format("{\"arm\":\"a%d\",\"label\":\"BUFFERCOUNT=%d, BLOCKSIZE=%d\"}", i,
                               10 + 10 * (i % 2), 512 << (i / 2));
        char *point = mem_format("{\"arm\":\"a%d\",\"x\":%d,\"rate_mib_s\":%d,\"low\":null}", i,
                                 10 + 10 * (i % 2), 100 + i);
        cJSON_AddItemToArray(arms, cJSON_Parse(arm));
        cJSON_AddItemToArray(curve, cJSON_Parse(point));
        free(arm);
        free(point);
    }
    (void)cJSON_ReplaceItemInObject(report, "arms", arms);
    (void)cJSON_ReplaceItemInObject(report, "curve", curve);
    return report;
}

static void several_settings_are_several_lines(void **state)
{
    (void)state;
    cJSON *report = sweep_of(2);
    char *page = report_html(report);
    markup_check(page);
    assert_non_null(strstr(page, "<li class=\"series-2\">"));
    assert_non_null(strstr(page, "</svg>BLOCKSIZE=1024</li>"));
    assert_null(strstr(page, "class=\"whisker\"")); /* an interval that is not known is not drawn */
    free(page);
    cJSON_Delete(report);

    report = sweep_of(8);
    page = report_html(report);
    markup_check(page);
    assert_null(strstr(page, "series-7\""));
    assert_non_null(strstr(page, "4 more settings stand in the table."));
    free(page);
    cJSON_Delete(report);
}

static void one_setting_is_no_curve(void **state)
{
    (void)state;
    cJSON *report = cJSON_Parse(reports[0]);
    cJSON_DeleteItemFromArray(cJSON_GetObjectItem(report, "curve"), 1);
    char *page = report_html(report);
    markup_check(page);
    assert_null(strstr(page, "<svg"));
    free(page);
    cJSON_Delete(report);
}

/* --- what is missing, and what is hostile ------------------------------------------------------
 */

static void a_report_of_any_shape_is_a_whole_page(void **state)
{
    (void)state;
    for (size_t i = 0; i < ODD_REPORT_COUNT; i++) {
        char *page = page_of(odd_reports[i]);
        markup_check(page);
        free(page);
    }
}

/* Every number, or every text, of the tree. */
static void replace_all(cJSON *tree, bool numbers, const char *text)
{
    for (cJSON *item = tree->child; item; item = item->next) {
        replace_all(item, numbers, text);
        if (numbers && cJSON_IsNumber(item))
            item->type = cJSON_NULL;
        if (!numbers && cJSON_IsString(item))
            (void)cJSON_SetValuestring(item, text);
    }
}

static void a_number_that_is_missing_is_unknown(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(reports); i++) {
        cJSON *report = cJSON_Parse(reports[i]);
        replace_all(report, true, NULL);
        char *page = report_html(report);
        markup_check(page);
        assert_non_null(strstr(page, ">unknown</span>"));
        assert_null(strstr(page, "–<"));
        free(page);
        cJSON_Delete(report);
    }
}

static void text_from_outside_stays_text(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "<script>alert(1)</script>",
        "</style><script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</code></pre><svg onload=alert(1)>",
        "javascript:alert(1)",
        "<!-- ",
        "]]>",
        "&lt;&#60;&amp;nbsp;",
        "a\r\nb\x1b[31m\x07\x7f",
        "\xC2\x85\xE2\x80\xA8\xE2\x80\xAEgnp.exe\xE2\x81\xA6",
        "\xFF\xC0\x80\xED\xA0\x80 cut \xE2\x82",
        "\xEF\xBF\xBE\xEF\xBF\xBF",
        "=cmd|' /C calc'!A0",
        "**x** `y` [z](http://example.net) | # {7*7} {{7*7}}",
    };
    for (size_t i = 0; i < COUNT(reports); i++)
        for (size_t j = 0; j < COUNT(texts); j++) {
            cJSON *report = cJSON_Parse(reports[i]);
            replace_all(report, false, texts[j]);
            char *page = report_html(report);
            markup_check(page); /* which knows no script, no link, no handler */
            free(page);
            cJSON_Delete(report);
        }
}

static void what_changes_direction_is_shown(void **state)
{
    (void)state;
    cJSON *report = cJSON_Parse(reports[0]);
    replace_all(report, false, "a\xE2\x80\xAEz\xC3\xA9");
    char *page = report_html(report);
    assert_non_null(strstr(page, "<bdi>a<span class=\"mark\">U+202E</span>zé</bdi>"));
    assert_non_null(strstr(page, "<code>a<span class=\"mark\">U+202E</span>zé</code>"));
    assert_null(strstr(page, "\xE2\x80\xAE"));
    free(page);
    cJSON_Delete(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_setting_with_rivals_has_a_range),
        cmocka_unit_test(the_page_of_a_sweep_reads_from_top_to_bottom),
        cmocka_unit_test(each_kind_has_its_own_parts),
        cmocka_unit_test(a_page_brings_its_style_and_allows_nothing_else),
        cmocka_unit_test(the_curve_has_its_intervals_and_is_told_in_words),
        cmocka_unit_test(several_settings_are_several_lines),
        cmocka_unit_test(one_setting_is_no_curve),
        cmocka_unit_test(a_report_of_any_shape_is_a_whole_page),
        cmocka_unit_test(a_number_that_is_missing_is_unknown),
        cmocka_unit_test(text_from_outside_stays_text),
        cmocka_unit_test(what_changes_direction_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
