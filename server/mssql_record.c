/* Reading what ODBC has to say: SQLSTATE, number, severity and text of each record. */
#include "server/mssql_inner.h"
#include "server/utf16.h"

#include <string.h>

#define RECORDS_MAX 10000 /* of one call */
#define TEXT_UNITS 4200   /* PRINT gives up to 4000 characters; the driver adds its name */

/* Messages begin with the names of those they passed through, "[FreeTDS][SQL Server]"; what comes
 * after "[SQL Server]" is the server's and may begin with a bracket, too. */
static const char *without_prefix(const char *text, bool *out_from_server)
{
    static const char server[] = "[SQL Server]";
    *out_from_server = false;
    while (*text == '[') {
        const char *end = strchr(text, ']');
        if (!end)
            break;
        bool last = strncmp(text, server, sizeof server - 1) == 0;
        text = end + 1;
        if (last) {
            *out_from_server = true;
            break;
        }
    }
    return text;
}

static void narrow_state(const SQLWCHAR wide[6], char out[6])
{
    for (int i = 0; i < 5; i++)
        out[i] = (char)(wide[i] > 0x20 && wide[i] < 0x7F ? wide[i] : '?');
    out[5] = '\0';
}

/* The driver keeps the severity in a field of its own, and none for information nor, while a
 * login fails, for anything: -1. */
static int severity_field(SQLSMALLINT type, SQLHANDLE handle, SQLSMALLINT index,
                          const struct mssql_family *family)
{
    SQLINTEGER severity = 0;
    SQLRETURN rc =
        SQLGetDiagFieldW(type, handle, index, family->severity_field, &severity, 0, NULL);
    return SQL_SUCCEEDED(rc) && severity > 0 && severity <= 25 ? (int)severity : -1;
}

/* FreeTDS writes "[SQL Server]" before everything. PRINT has number 0, too, but is 01000. */
static bool is_own(const struct mssql_family *family, bool from_server, int severity,
                   const struct mssql_record *record)
{
    if (!from_server)
        return true;
    if (record->number == 0)
        return strcmp(record->state, "01000") != 0;
    return record->number >= family->own_first && record->number <= family->own_last &&
           severity <= family->own_severity;
}

void mssql_records(SQLSMALLINT type, SQLHANDLE handle, const struct mssql_family *family,
                   mssql_on_record *on_record, void *ctx)
{
    SQLWCHAR wide[TEXT_UNITS];
    struct buf text = {0};
    for (SQLSMALLINT index = 1; index < RECORDS_MAX; index++) {
        SQLWCHAR state[6] = {0};
        SQLINTEGER number = 0;
        SQLSMALLINT length = 0;
        SQLRETURN rc =
            SQLGetDiagRecW(type, handle, index, state, &number, wide, TEXT_UNITS, &length);
        if (!SQL_SUCCEEDED(rc))
            break;
        size_t units = 0;
        while (units < TEXT_UNITS && wide[units])
            units++;
        buf_clear(&text);
        utf16_append_to(&text, wide, units);
        struct mssql_record record = {.number = (int)number};
        bool from_server;
        narrow_state(state, record.state);
        record.text = without_prefix(buf_text(&text), &from_server);
        int severity = severity_field(type, handle, index, family);
        record.own = is_own(family, from_server, severity, &record);
        record.severity = severity;
        if (severity < 0 || record.own)
            record.severity = strncmp(record.state, "01", 2) == 0 ? 0 : 16;
        on_record(ctx, &record);
    }
    buf_fini(&text);
}
