/* Standard Webhooks signatures. */
#include "jobs/sign.h"
#include "server/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* The example that the specification's libraries test themselves with. */
#define KNOWN_SECRET "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define KNOWN_ID "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define KNOWN_TIME 1614265330
#define KNOWN_BODY "{\"test\": 2432232314}"
#define KNOWN_SIGNATURE "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

static void signs_the_known_example(void **state)
{
    (void)state;
    struct signature signature;
    struct err err = {0};
    assert_int_equal(
        sign_delivery(KNOWN_ID, KNOWN_TIME, KNOWN_BODY, "whsec_" KNOWN_SECRET, &signature, &err),
        0);
    assert_int_equal(signature.count, 3);
    assert_string_equal(signature.headers[0], "webhook-id: " KNOWN_ID);
    assert_string_equal(signature.headers[1], "webhook-timestamp: 1614265330");
    assert_string_equal(signature.headers[2], "webhook-signature: " KNOWN_SIGNATURE);
    signature_fini(&signature);
    signature_fini(&signature); /* harmless twice */
}

/* By: printf 'i.1.b' | openssl dgst -sha256 -hmac plain -binary | base64 */
#define PLAIN_SIGNATURE "v1,9QeMeC165E3hExMKr1aGUR8SWSQ7fX9cXC8aF+wZDL4="

static void takes_a_secret_without_prefix_as_it_is(void **state)
{
    (void)state;
    struct signature signature;
    struct err err = {0};
    assert_int_equal(sign_delivery("i", 1, "b", "plain", &signature, &err), 0);
    assert_string_equal(signature.headers[2], "webhook-signature: " PLAIN_SIGNATURE);
    signature_fini(&signature);
}

static void sends_id_and_time_without_a_secret(void **state)
{
    (void)state;
    struct signature signature;
    struct err err = {0};
    assert_int_equal(sign_delivery("i", 1, "b", NULL, &signature, &err), 0);
    assert_int_equal(signature.count, 2);
    signature_fini(&signature);
}

static void refuses_a_secret_that_is_no_base64_without_telling_it(void **state)
{
    (void)state;
    static const char *const secrets[] = {"whsec_", "whsec_!!!!hidden", "whsec_abc"};
    for (size_t i = 0; i < JSON_COUNT(secrets); i++) {
        struct signature signature;
        struct err err = {0};
        assert_int_equal(sign_delivery("i", 1, "b", secrets[i], &signature, &err), -1);
        assert_int_equal(err.code, ERR_REFUSED);
        assert_null(strstr(err.msg, "hidden"));
        assert_int_equal(signature.count, 0);
        signature_fini(&signature);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_the_known_example),
        cmocka_unit_test(takes_a_secret_without_prefix_as_it_is),
        cmocka_unit_test(sends_id_and_time_without_a_secret),
        cmocka_unit_test(refuses_a_secret_that_is_no_base64_without_telling_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
