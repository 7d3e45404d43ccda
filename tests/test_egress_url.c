/* The form of URLs and headers, before anything is sent. */
#include "server/buf.h"
#include "server/egress.h"
#include "server/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_post_is_refused(const char *url, const char *const *headers, size_t header_count)
{
    struct egress *egress = NULL;
    struct egress_answer answer;
    struct err err;
    struct egress_request request = {
        .url = url, .content_type = "text/plain", .headers = headers, .header_count = header_count};
    assert_int_equal(egress_open("127.0.0.0/8", &egress, &err), 0);
    assert_int_equal(egress_post(egress, &request, &answer, &err), -1);
    assert_int_equal(err.code, ERR_INPUT);
    egress_close(egress);
}

static void urls_have_a_plain_form_or_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool valid;
    } cases[] = {
        {"https://chat.example.net/hooks/abc", true},
        {"HTTPS://chat.example.net", true},
        {"http://chat.example.net:8080/?a=b&c=d", true},
        {"https://[2001:db8::1]:443/x", true},
        {"https://x.logic.azure.com:443/workflows/1/triggers?sig=a%2Fb", true},
        {"", false},
        {"chat.example.net/hooks", false},
        {"//chat.example.net/hooks", false},
        {"ftp://chat.example.net/", false},
        {"file:///etc/passwd", false},
        {"gopher://127.0.0.1/", false},
        {"dict://127.0.0.1/", false},
        {"httpss://x/", false},
        {"http:/x/", false},
        {"http:///x/", false},
        {"http://", false},
        {"http://?x", false},
        {"http://#x", false},
        {"http://:80/", false},
        {"http://user@host/", false},
        {"http://user:pass@host/", false},
        {"http://a@b@127.0.0.1/", false},
        {"http://@host/", false},
        {"http://host:99999/", false},
        {"http://host:port/", false},
        {"http://ho st/", false},
        {"http://host/a b", false},
        {"http://host/\r\nX: y", false},
        {"http://host\\@other/", false},
        {" http://host/", false},
        {"http://[::1/", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = {0};
        assert_int_equal(egress_check_url(cases[i].url, &err), cases[i].valid ? 0 : -1);
        assert_int_equal(err.code, cases[i].valid ? ERR_NONE : ERR_INPUT);
        if (cases[i].valid)
            continue;
        assert_post_is_refused(cases[i].url, NULL, 0);
    }
}

static void a_url_that_is_too_long_is_refused(void **state)
{
    (void)state;
    struct err err;
    struct buf url = {0};
    buf_add(&url, "https://host/");
    while (url.length < LIMIT_URL_BYTES)
        buf_add_char(&url, 'x');
    assert_int_equal(egress_check_url(buf_text(&url), &err), 0);
    buf_add_char(&url, 'x');
    assert_int_equal(egress_check_url(buf_text(&url), &err), -1);
    buf_fini(&url);
}

static void headers_that_would_forge_others_are_refused(void **state)
{
    (void)state;
    static const char *const headers[] = {"X: a\r\nY: b", "X: a\nb", "X: a\r", "no colon",
                                          ": empty"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        assert_post_is_refused("http://127.0.0.1:9/", &headers[i], 1);
    }
}

static void only_the_ends_of_a_url_are_shown(void **state)
{
    (void)state;
    static const struct {
        const char *url, *shown;
    } cases[] = {
        {"https://chat.example.net/hooks/abcdefgh", "https://chat.example.net/…efgh"},
        {"http://chat.example.net:8080/hooks/abcdefgh", "http://chat.example.net/…efgh"},
        {"https://chat.example.net/hooks?sig=1234567", "https://chat.example.net/…4567"},
        {"https://chat.example.net/abc", "https://chat.example.net/…"},
        {"https://chat.example.net", "https://chat.example.net/…"},
        {"https://chat.example.net/12345\xC3\xA4\xC3\xA4\xC3\xA4",
         "https://chat.example.net/…\xC3\xA4\xC3\xA4"},
        {"https://user:secret@chat.example.net/hooks/abc", "…"},
        {"not a url with a secret", "…"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *shown = egress_redact(cases[i].url);
        assert_string_equal(shown, cases[i].shown);
        assert_false(egress_is_redacted(cases[i].url));
        if (strchr(shown, ':')) {
            assert_true(egress_is_redacted(shown));
            char *again = egress_redact(shown);
            assert_string_equal(again, shown);
            free(again);
        }
        free(shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_have_a_plain_form_or_are_refused),
        cmocka_unit_test(a_url_that_is_too_long_is_refused),
        cmocka_unit_test(headers_that_would_forge_others_are_refused),
        cmocka_unit_test(only_the_ends_of_a_url_are_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
