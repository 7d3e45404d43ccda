/* The Markdown of reports that no fixture makes: each kind's, and broken ones. */
#include "jobs/measure/report.h"
#include "tests/odd_reports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void each_kind_says_its_own_verdict(void **state)
{
    (void)state;
    static const struct {
        const char *report, *first_line;
    } cases[] = {
        {"{\"overhead\":[{\"database\":\"Sales\",\"flag\":3042,\"ratio\":1.01,\"low\":0.99,"
         "\"high\":"
         "1.03,\"verdict\":\"inconclusive\"},{\"database\":\"HR\",\"flag\":3042,\"ratio\":1.0556,"
         "\"low\":1.05,\"high\":1.06,\"verdict\":\"slower\"}]}",
         "Trace flag 3042 makes backups of HR 5.6 % slower (95 % interval +5.0 % to +6.0 %); 1 "
         "more "
         "below.\n"},
        {"{\"overhead\":[{\"location\":\"SSD\",\"snapshots\":1,\"ratio\":1.001,\"low\":0.999,"
         "\"high\":"
         "1.003,\"verdict\":\"no_difference\"}]}",
         "With **1 snapshot at SSD** times differ by less than the tolerance (times in proportion: "
         "0.999 to 1.003).\n"},
        {"{\"overhead\":[{\"location\":\"SSD\",\"snapshots\":2,\"ratio\":1.1,\"low\":0.9,\"high\":"
         "1.4,\"verdict\":\"inconclusive\"}]}",
         "With **2 snapshots at SSD** the data do not decide: at first sight it runs 10.0 % slower "
         "(times in proportion: 0.90 to 1.40).\n"},
        {"{\"bottleneck\":[{\"database\":\"Sales\",\"read_ceiling_mib_s\":46,\"targets\":[{"
         "\"name\":"
         "\"disk\",\"rate_mib_s\":18.7,\"fraction_of_ceiling\":0.406,\"verdict\":\"write\","
         "\"evidence\":[\"a\"],\"advice\":[]}]}]}",
         "**Sales** to disk: **writing** limits (40.6 % of what reading alone gives).\n"},
        {"{\"bottleneck\":[{\"database\":\"Sales\",\"targets\":[{\"name\":\"disk\",\"verdict\":"
         "\"unsure\"}]}]}",
         "**Sales** to disk: the evidence does not tell what limits (– of what reading alone "
         "gives).\n"},
        {"{\"history\":[{\"database\":\"Sales\",\"type\":\"full\",\"n\":30,\"logical_mib_s\":"
         "{\"median\":812.1,\"p5\":700,\"p95\":900},\"ratio\":4.49}]}",
         "**30 recorded backups** in 1 series.\n"},
        {"{}", "**No recommendation**: the data do not decide.\n"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        cJSON *report = cJSON_Parse(cases[i].report);
        char *markdown = report_markdown(report);
        if (strncmp(markdown, cases[i].first_line, strlen(cases[i].first_line)) != 0)
            fail_msg("%s", markdown);
        free(markdown);
        cJSON_Delete(report);
    }
}

static void a_report_of_any_shape_can_be_rendered(void **state)
{
    (void)state;
    for (size_t i = 0; i < ODD_REPORT_COUNT; i++) {
        cJSON *report = cJSON_Parse(odd_reports[i]);
        char *markdown = report_markdown(report);
        assert_true(strlen(markdown) > 0);
        assert_null(strstr(markdown, "nan"));
        free(markdown);
        cJSON_Delete(report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_says_its_own_verdict),
        cmocka_unit_test(a_report_of_any_shape_can_be_rendered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
