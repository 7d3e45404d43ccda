#include "jobs/measure/tsql.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const nul[] = {"NUL"};
static const char *const two_nul[] = {"NUL", "NUL"};
static const char *const windows[] = {"D:\\Backup\\sweetspot_x_1_1.bak",
                                      "E:\\Backup\\sweetspot_x_1_2.bak"};
static const char *const linux_two[] = {"/var/opt/mssql/backup/a.bak",
                                        "/var/opt/mssql/backup/b.bak"};
static const char *const three[] = {"D:\\a\\1.bak", "E:\\b\\2.bak", "D:\\a\\3.bak"};

typedef int maker(const struct tsql_backup *, struct buf *, struct err *);

/* --- statements ------------------------------------------------------------------------------ */

static void statements_say_what_was_asked(void **state)
{
    (void)state;
    static const struct {
        struct tsql_backup backup;
        const char *backup_sql, *production, *ola, *dbatools;
    } cases[] = {
        {{.database = "Sales", .devices = nul, .device_count = 1, .compression = "default"},
         "BACKUP DATABASE [Sales] TO DISK = N'NUL' WITH COPY_ONLY, STATS = 5",
         "BACKUP DATABASE [Sales] TO DISK = N'<path of your backup file>'",
         "EXECUTE dbo.DatabaseBackup @Databases = N'Sales', @Directory = N'<your backup folder>', "
         "@BackupType = 'FULL'",
         "Backup-DbaDatabase -SqlInstance '<your instance>' -Database 'Sales' -Path "
         "'<your backup folder>' -Type Full"},
        {{.database = "Sales",
          .devices = windows,
          .device_count = 2,
          .buffercount = 100,
          .maxtransfersize = 4194304,
          .blocksize = 65536,
          .compression = "on",
          .name = "run 7"},
         "BACKUP DATABASE [Sales] TO DISK = N'D:\\Backup\\sweetspot_x_1_1.bak', DISK = "
         "N'E:\\Backup\\sweetspot_x_1_2.bak' WITH COPY_ONLY, BUFFERCOUNT = 100, MAXTRANSFERSIZE = "
         "4194304, BLOCKSIZE = 65536, COMPRESSION, NAME = N'run 7', STATS = 5",
         "BACKUP DATABASE [Sales] TO DISK = N'D:\\Backup\\<name of your backup file 1>.bak', DISK "
         "= "
         "N'E:\\Backup\\<name of your backup file 2>.bak' WITH BUFFERCOUNT = 100, MAXTRANSFERSIZE "
         "= 4194304, BLOCKSIZE = 65536, COMPRESSION",
         "EXECUTE dbo.DatabaseBackup @Databases = N'Sales', @Directory = N'D:\\Backup,E:\\Backup', "
         "@BackupType = 'FULL', @BufferCount = 100, @MaxTransferSize = 4194304, @BlockSize = "
         "65536, @NumberOfFiles = 2, @Compress = 'Y'",
         "Backup-DbaDatabase -SqlInstance '<your instance>' -Database 'Sales' -Path "
         "'D:\\Backup','E:\\Backup' -Type Full -BufferCount 100 -MaxTransferSize 4194304 "
         "-BlockSize 65536 -CompressBackup"},
        {{.database = "Sales", .devices = linux_two, .device_count = 2, .compression = "off"},
         "BACKUP DATABASE [Sales] TO DISK = N'/var/opt/mssql/backup/a.bak', DISK = "
         "N'/var/opt/mssql/backup/b.bak' WITH COPY_ONLY, NO_COMPRESSION, STATS = 5",
         "BACKUP DATABASE [Sales] TO DISK = N'/var/opt/mssql/backup/<name of your backup file "
         "1>.bak', DISK = N'/var/opt/mssql/backup/<name of your backup file 2>.bak' WITH "
         "NO_COMPRESSION",
         "EXECUTE dbo.DatabaseBackup @Databases = N'Sales', @Directory = "
         "N'/var/opt/mssql/backup', @BackupType = 'FULL', @NumberOfFiles = 2, @Compress = 'N'",
         "Backup-DbaDatabase -SqlInstance '<your instance>' -Database 'Sales' -Path "
         "'/var/opt/mssql/backup' -Type Full -FileCount 2 -CompressBackup:$false"},
        {{.database = "a]b'c",
          .devices = two_nul,
          .device_count = 2,
          .buffercount = 7,
          .compression = "ZSTD"},
         "BACKUP DATABASE [a]]b'c] TO DISK = N'NUL', DISK = N'NUL' WITH COPY_ONLY, BUFFERCOUNT = "
         "7, COMPRESSION (ALGORITHM = ZSTD), STATS = 5",
         "BACKUP DATABASE [a]]b'c] TO DISK = N'<path of your backup file 1>', DISK = N'<path of "
         "your backup file 2>' WITH BUFFERCOUNT = 7, COMPRESSION (ALGORITHM = ZSTD)",
         "EXECUTE dbo.DatabaseBackup @Databases = N'[a]]b''c]', @Directory = N'<your backup "
         "folder>', @BackupType = 'FULL', @BufferCount = 7, @NumberOfFiles = 2, @Compress = 'Y', "
         "@CompressionAlgorithm = 'ZSTD'",
         "Backup-DbaDatabase -SqlInstance '<your instance>' -Database 'a]b''c' -Path '<your backup "
         "folder>' -Type Full -BufferCount 7 -FileCount 2 -CompressBackup # dbatools cannot name "
         "ZSTD: set the server's option 'backup compression algorithm'"},
        {{.database = "USER_DATABASES",
          .devices = three,
          .device_count = 3,
          .compression = "default"},
         "BACKUP DATABASE [USER_DATABASES] TO DISK = N'D:\\a\\1.bak', DISK = N'E:\\b\\2.bak', DISK "
         "= N'D:\\a\\3.bak' WITH COPY_ONLY, STATS = 5",
         "BACKUP DATABASE [USER_DATABASES] TO DISK = N'D:\\a\\<name of your backup file 1>.bak', "
         "DISK = N'E:\\b\\<name of your backup file 2>.bak', DISK = N'D:\\a\\<name of your backup "
         "file 3>.bak'",
         "EXECUTE dbo.DatabaseBackup @Databases = N'[USER_DATABASES]', @Directory = "
         "N'D:\\a,E:\\b', @BackupType = 'FULL', @NumberOfFiles = 3 /* DatabaseBackup wants as many "
         "files in each directory */",
         "Backup-DbaDatabase -SqlInstance '<your instance>' -Database 'USER_DATABASES' -Path "
         "'D:\\a','E:\\b','D:\\a' -Type Full"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        static maker *const makers[] = {tsql_backup, tsql_recommendation, tsql_recommendation_ola,
                                        tsql_recommendation_dbatools};
        const char *const wanted[] = {cases[i].backup_sql, cases[i].production, cases[i].ola,
                                      cases[i].dbatools};
        for (size_t j = 0; j < COUNT(makers); j++) {
            struct buf out = {0};
            struct err err;
            assert_int_equal(makers[j](&cases[i].backup, &out, &err), 0);
            assert_string_equal(buf_text(&out), wanted[j]);
            buf_fini(&out);
        }
    }
}

static void what_cannot_be_written_down_is_refused(void **state)
{
    (void)state;
    static const char *const blanks[] = {" NUL "};
    static const char *const relative[] = {"backup.bak"};
    static const char *const drive_relative[] = {"D:backup.bak"};
    static const char *const control[] = {"/tmp/a\nb.bak"};
    static const char *const device_null[] = {""};
    char long_name[200];
    char long_path[400];
    memset(long_name, 'x', sizeof long_name);
    long_name[129] = '\0';
    memset(long_path, 'x', sizeof long_path);
    long_path[0] = '/';
    long_path[300] = '\0';
    const char *const too_long[] = {long_path};
    const struct tsql_backup good = {
        .database = "x", .devices = nul, .device_count = 1, .compression = "off"};
    struct tsql_backup bad[16];
    for (size_t i = 0; i < COUNT(bad); i++)
        bad[i] = good;
    bad[0].database = "";
    bad[1].database = long_name;
    bad[2].database = "a\x01";
    bad[3].database = "a\xFF";
    bad[4].database = "a\xC2\x85"; /* U+0085, next line */
    bad[5].devices = blanks;
    bad[6].devices = relative;
    bad[7].devices = drive_relative;
    bad[8].devices = control;
    bad[9].devices = too_long;
    bad[10].device_count = 0;
    bad[11].device_count = 65;
    bad[12].compression = "best";
    bad[13].buffercount = -1;
    bad[14].compression = NULL;
    bad[15].devices = device_null;
    for (size_t i = 0; i < COUNT(bad); i++) {
        static maker *const makers[] = {tsql_backup, tsql_recommendation, tsql_recommendation_ola,
                                        tsql_recommendation_dbatools};
        for (size_t j = 0; j < COUNT(makers); j++) {
            struct buf out = {0};
            struct err err = {0};
            if (makers[j](&bad[i], &out, &err) != -1)
                fail_msg("case %zu", i);
            assert_int_equal(err.code, ERR_INPUT);
            assert_string_equal(buf_text(&out), "");
            buf_fini(&out);
        }
    }
    struct tsql_backup named = good;
    struct buf out = {0};
    named.name = long_name;
    assert_int_equal(tsql_backup(&named, &out, NULL), -1);
    named.name = "a\nb";
    assert_int_equal(tsql_backup(&named, &out, NULL), -1);
    assert_string_equal(buf_text(&out), "");
}

static void a_name_of_128_characters_fits(void **state)
{
    (void)state;
    struct buf out = {0};
    char name[4 * 65 + 1];
    for (int i = 0; i < 65; i++)
        memcpy(name + 4 * i, "\xF0\x9F\x98\x80", 5); /* two UTF-16 units each */
    assert_false(tsql_add_name(&out, name));
    assert_string_equal(buf_text(&out), "");
    name[4 * 64] = '\0';
    assert_true(tsql_add_name(&out, name));
    buf_fini(&out);
}

/* --- hostile names ---------------------------------------------------------------------------- */

static uint64_t random_state = 20261201;

static size_t random_below(size_t bound)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(random_state >> 33) % bound;
}

static void make_name(char *out, size_t pieces)
{
    static const char *const nasty[] = {
        "]",
        "]]",
        "'",
        "''",
        "[",
        "\"",
        ";",
        "--",
        "/*",
        "*/",
        " ",
        "FORMAT",
        "INIT",
        "SKIP",
        "] TO DISK = N'x' WITH FORMAT --",
        "'; DROP DATABASE x; --",
        "N'",
        "$(x)",
        "`",
        "$",
        "%",
        "\xE2\x80\x98",
        "\xE2\x80\x99",
        "\xE2\x80\x9A",
        "\xE2\x80\x9B",
        "\xCA\xBC",
        "\xEF\xBC\x87",
        "\xF0\x9F\x98\x80",
        "\xE2\x80\xAE",
        "a",
        "Z",
        "0",
        ",",
        "@",
        "#",
        "\\",
        "/",
        "..",
        "{seq}",
    };
    *out = '\0';
    size_t length = 0;
    for (size_t i = 0; i < pieces; i++) {
        const char *piece = nasty[random_below(COUNT(nasty))];
        memcpy(out + length, piece, strlen(piece) + 1);
        length += strlen(piece);
    }
}

/* The statement with every [name] and 'text' replaced by @, read as T-SQL reads it. */
static char *skeleton_of_tsql(const char *sql)
{
    struct buf out = {0};
    while (*sql) {
        char open = *sql;
        char close = open == '[' ? ']' : open == '\'' ? '\'' : '\0';
        buf_add_char(&out, close ? '@' : open);
        sql++;
        while (close && *sql) {
            if (*sql == close && sql[1] != close)
                break;
            sql += *sql == close ? 2 : 1;
        }
        sql += close && *sql;
    }
    return buf_take(&out);
}

static size_t powershell_quote(const char *text)
{
    if (*text == '\'')
        return 1;
    bool curly = text[0] == '\xE2' && text[1] == '\x80' && text[2] >= '\x98' && text[2] <= '\x9B';
    return curly ? 3 : 0;
}

/* The same for PowerShell, to which five characters are a single quote. */
static char *skeleton_of_powershell(const char *text)
{
    struct buf out = {0};
    while (*text) {
        size_t open = powershell_quote(text);
        buf_add_char(&out, open ? '@' : *text);
        text += open ? open : 1;
        while (open && *text) {
            size_t close = powershell_quote(text);
            if (close && !powershell_quote(text + close))
                break;
            text += close ? close + powershell_quote(text + close) : 1;
        }
        text += open && *text ? powershell_quote(text) : 0;
    }
    return buf_take(&out);
}

static void check_skeleton(maker *make, const struct tsql_backup *backup, bool powershell,
                           const char *wanted)
{
    struct buf out = {0};
    struct err err;
    assert_int_equal(make(backup, &out, &err), 0);
    char *skeleton =
        powershell ? skeleton_of_powershell(buf_text(&out)) : skeleton_of_tsql(buf_text(&out));
    if (strcmp(skeleton, wanted) != 0)
        fail_msg("%s\n%s", buf_text(&out), skeleton);
    free(skeleton);
    buf_fini(&out);
}

static void no_name_changes_the_structure_of_a_statement(void **state)
{
    (void)state;
    for (int i = 0; i < 5000; i++) {
        char name[1024];
        char path[1100] = "/b/";
        make_name(name, 1 + random_below(8));
        make_name(path + 3, 1 + random_below(5));
        const char *const devices[] = {path};
        struct tsql_backup backup = {.database = name,
                                     .devices = devices,
                                     .device_count = 1,
                                     .buffercount = 50,
                                     .compression = "off",
                                     .name = name};
        struct buf probe = {0};
        bool fits = tsql_add_name(&probe, name);
        buf_fini(&probe);
        if (!fits)
            continue; /* longer than 128 characters */
        check_skeleton(tsql_backup, &backup, false,
                       "BACKUP DATABASE @ TO DISK = N@ WITH COPY_ONLY, BUFFERCOUNT = 50, "
                       "NO_COMPRESSION, NAME = N@, STATS = 5");
        check_skeleton(tsql_recommendation, &backup, false,
                       "BACKUP DATABASE @ TO DISK = N@ WITH BUFFERCOUNT = 50, NO_COMPRESSION");
        backup.devices = nul;
        check_skeleton(tsql_recommendation_ola, &backup, false,
                       strpbrk(name, ",%")
                           ? "EXECUTE dbo.DatabaseBackup @Databases = N@, @Directory = N@, "
                             "@BackupType = @, @BufferCount = 50, @Compress = @ /* @Databases "
                             "reads , as a list and % as a wildcard */"
                           : "EXECUTE dbo.DatabaseBackup @Databases = N@, @Directory = N@, "
                             "@BackupType = @, @BufferCount = 50, @Compress = @");
        check_skeleton(tsql_recommendation_dbatools, &backup, true,
                       "Backup-DbaDatabase -SqlInstance @ -Database @ -Path @ -Type Full "
                       "-BufferCount 50 -CompressBackup:$false");
    }
}

static void every_backup_is_copy_only_and_never_formats(void **state)
{
    (void)state;
    static const char *const compressions[] = {"default",   "off",         "on",
                                               "MS_XPRESS", "QAT_DEFLATE", "ZSTD"};
    static const char *const never[] = {"FORMAT", "INIT", "SKIP", "NOINIT", "NOFORMAT"};
    for (size_t c = 0; c < COUNT(compressions); c++) {
        for (int mask = 0; mask < 16; mask++) {
            struct tsql_backup backup = {.database = "FORMAT",
                                         .devices = mask & 1 ? windows : nul,
                                         .device_count = mask & 1 ? 2 : 1,
                                         .buffercount = mask & 2 ? 50 : 0,
                                         .maxtransfersize = mask & 4 ? 65536 : 0,
                                         .blocksize = mask & 8 ? 512 : 0,
                                         .compression = compressions[c],
                                         .name = "INIT"};
            struct buf out = {0};
            struct err err;
            assert_int_equal(tsql_backup(&backup, &out, &err), 0);
            char *skeleton = skeleton_of_tsql(buf_text(&out));
            assert_non_null(strstr(skeleton, " WITH COPY_ONLY, "));
            assert_null(strchr(skeleton, '\n'));
            for (size_t n = 0; n < COUNT(never); n++)
                assert_null(strstr(skeleton, never[n]));
            assert_int_equal(strstr(skeleton, "BUFFERCOUNT") != NULL, (mask & 2) != 0);
            assert_int_equal(strstr(skeleton, "MAXTRANSFERSIZE") != NULL, (mask & 4) != 0);
            assert_int_equal(strstr(skeleton, "BLOCKSIZE") != NULL, (mask & 8) != 0);
            assert_int_equal(strstr(skeleton, "COMPRESSION") != NULL, c != 0);
            free(skeleton);
            buf_fini(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_say_what_was_asked),
        cmocka_unit_test(what_cannot_be_written_down_is_refused),
        cmocka_unit_test(a_name_of_128_characters_fits),
        cmocka_unit_test(no_name_changes_the_structure_of_a_statement),
        cmocka_unit_test(every_backup_is_copy_only_and_never_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
