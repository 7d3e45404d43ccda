/* What people reported from the field, where a number of SQL Server or its build alone says what to
 * do (the numbers are those of the list of such reports). */
#include "jobs/measure/guard.h"
#include "jobs/measure/message_advice.h"
#include "server/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- what a number means ------------------------------------------------------------------------
 */

static void report_4_12_18_22_36_an_error_is_explained_by_its_number(void **state)
{
    (void)state;
    static const struct {
        int number;
        const char *text, *words; /* NULL: nothing is added */
    } cases[] = {
        {3201,
         "Cannot open backup device 'D:\\x.bak'. Operating system error 5(Access is denied.).",
         "account that the SQL Server service runs under"},
        {3201, "No se puede abrir '/b/x.bak'. Error del sistema operativo 5(Acceso denegado.).",
         "account that the SQL Server service runs under"},
        {3201, "Das Sicherungsmedium 'D:\\old 5(b)\\x.bak'. Betriebssystemfehler 3(Der Pfad …).",
         "The folder is not there on the server's host"},
        {3201, "バックアップ デバイス '/b/x' を開けません。オペレーティング システム エラー 5(…)。",
         "account that the SQL Server service runs under"},
        {3201, "Cannot open backup device. Operating system error 4242(?).", NULL},
        {3201, "Cannot open backup device.", NULL},
        {3634,
         "The operating system returned the error '31(A device attached to the system is "
         "not functioning.)' while attempting 'SetEndOfFile' on '/dev/null'.",
         "NUL discards on every platform"},
        {3634,
         "The operating system returned the error '64(The network name is no longer "
         "available.)' while attempting 'SetEndOfFile' on '\\\\nas\\5(x)\\a.bak'.",
         "trace flag 3042 leaves the pre-allocation out"},
        {3202, "Write on \"D:\\x.bak\" failed: 112(There is not enough space on the disk.)",
         "trace flag 3042 lets the file grow as needed"},
        {3204, "The backup or restore was aborted.", "there is no whole backup"},
        {3021, "Cannot perform a backup or restore operation within a transaction.",
         "in no transaction"},
        {3059, NULL, "with COPY_ONLY only"},
        {3063, NULL, "50,000 blocks"},
        {3291, NULL, "page blob"},
        {1205, "Transaction was deadlocked", NULL},
        {0, NULL, NULL},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        const char *advice = message_advice(cases[i].number, cases[i].text);
        if (!advice != !cases[i].words || (advice && !strstr(advice, cases[i].words)))
            fail_msg("%d: %s", cases[i].number, advice ? advice : "nothing");
    }
    assert_int_equal(message_os_error(3202, cases[8].text), 112);
    assert_int_equal(message_os_error(3201, NULL), -1);
    assert_int_equal(message_os_error(1205, "5(x)"), -1);
}

/* --- what a build does --------------------------------------------------------------------------
 */

static void report_9_32_advice_for_encrypted_databases_follows_the_build(void **state)
{
    (void)state;
    static const struct {
        int major;
        const char *version;
        enum guard_tde tde;
        const char *words; /* NULL: nothing is to be done */
    } cases[] = {
        {12, "12.0.6024.0", GUARD_TDE_NEVER, "leave compression out"},
        {13, "13.0.4001.0", GUARD_TDE_NEVER, "leave compression out"},
        {13, "13.0.4446.0", GUARD_TDE_LARGE_TRANSFERS, "MAXTRANSFERSIZE = 131072"},
        {14, "14.0.3456.2", GUARD_TDE_LARGE_TRANSFERS, "MAXTRANSFERSIZE = 131072"},
        {15, "15.0.4033.1", GUARD_TDE_LARGE_TRANSFERS, "MAXTRANSFERSIZE = 131072"},
        {15, "15.0.4043.16", GUARD_TDE_BY_ITSELF, NULL},
        {16, "16.0.1000.6", GUARD_TDE_BY_ITSELF, NULL},
        {0, NULL, GUARD_TDE_UNKNOWN, NULL},
    };
    for (size_t i = 0; i < JSON_COUNT(cases); i++) {
        struct server_facts facts = {.major = cases[i].major,
                                     .version = mem_copy(cases[i].version)};
        const char *advice = guard_tde_advice(&facts);
        assert_int_equal(guard_tde(facts.major, guard_build(&facts)), cases[i].tde);
        if (!advice != !cases[i].words || (advice && !strstr(advice, cases[i].words)))
            fail_msg("%s: %s", cases[i].version, advice ? advice : "nothing");
        server_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_4_12_18_22_36_an_error_is_explained_by_its_number),
        cmocka_unit_test(report_9_32_advice_for_encrypted_databases_follows_the_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
