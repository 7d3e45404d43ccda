#include "jobs/measure/messages.h"

#include <math.h>
#include <string.h>

#define PAGE_BYTES 8192
#define RATE_STEPS 1000 /* rates and seconds are printed with three decimals */
#define LOG_FILES_MAX 4 /* each log file's last page is counted whole and read in part */
#define SEVERITY_INFO_MAX 10

/* --- numbers ------------------------------------------------------------------------------ */

/* Where the login, or a right without which nothing can be measured, is missing. */
static const int refusals[] = {
    MESSAGE_LOGIN_FAILED,
    18450, /* login not defined as a login of a trusted connection */
    18452, /* login from an untrusted domain */
    18470, /* login disabled */
    18486, /* login locked out */
    18487, /* password expired */
    18488, /* password must be changed */
    4060,  /* the database asked for at login cannot be opened */
    4064,  /* the login's default database cannot be opened */
    916,   /* the login may not use this database */
    262,   /* BACKUP DATABASE or CREATE DATABASE denied */
    229,   /* EXECUTE or SELECT on an object denied (deleting our files) */
    2571,  /* DBCC TRACEON denied */
    15247, /* the action needs a server role */
    /* 297 and 300 are not here: they come from reading a DMV (waits, CPU, I/O), and every such
     * reading is optional: without it the report shows null and the measuring goes on. */
};

/* The database, not the setting: missing, in a state that cannot be backed up, in another role. */
static const int hopeless[] = {
    911, 923, 924, 926,  927,  942,  945,  952,  954,  976,
    978, 979, 983, 3002, 3021, 3033, 3036, 3059, 3147,
};

/* Where the same statement may do in a moment. */
static const int passing[] = {
    1205,  /* deadlock victim */
    1222,  /* lock time-out: ALTER DATABASE, shrink */
    3023,  /* backup, file change and encryption change take turns */
    921,   /* the database has not been recovered yet */
    922,   /* the database is being recovered */
    6005,  /* the server shuts down */
    18401, /* the server runs its upgrade script */
};

/* What reading an optional view says where it, or the right to read it, is missing. */
static const int absences[] = {
    207,   /* no such column */
    208,   /* no such view */
    229,   /* permission denied on an object */
    297,   /* the user may not perform this action */
    300,   /* VIEW SERVER STATE and its like denied */
    371,   /* permission denied on a catalog procedure */
    916,   /* the login may not use this database */
    2812,  /* no such procedure */
    4121,  /* no such function */
    8189,  /* ALTER TRACE denied */
    15247, /* the action needs a server role */
};

static const int memory[] = {
    MESSAGE_NO_MEMORY, MESSAGE_NO_BUFFER, 8645, /* waited too long for memory */
};

static bool contains(const int *numbers, size_t count, int number)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number)
            return true;
    return false;
}

bool message_is_refusal(int number)
{
    return contains(refusals, sizeof refusals / sizeof refusals[0], number);
}

bool message_is_hopeless(int number)
{
    return contains(hopeless, sizeof hopeless / sizeof hopeless[0], number);
}

bool message_is_passing(int number)
{
    return contains(passing, sizeof passing / sizeof passing[0], number);
}

bool message_is_absence(int number)
{
    return contains(absences, sizeof absences / sizeof absences[0], number);
}

bool message_is_memory(int number)
{
    return contains(memory, sizeof memory / sizeof memory[0], number);
}

/* --- digits ------------------------------------------------------------------------------- */

struct printed {
    int64_t whole;
    int64_t thousandths; /* whole * 1000 + the three decimals; -1: no decimals */
};

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* Reads the digits at *text and moves behind them; false when the number is too large. */
static bool read_digits(const char **text, int64_t *out)
{
    int64_t value = 0;
    for (; is_digit(**text); (*text)++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, **text - '0', &value))
            return false;
    *out = value;
    return true;
}

/* The next number of a text: digits, perhaps a full stop and exactly three more (%d.%03d, the
 * same in every language). False at the end, or when a number is too large. */
static bool next_number(const char **text, struct printed *out)
{
    while (**text && !is_digit(**text))
        (*text)++;
    if (!**text || !read_digits(text, &out->whole))
        return false;
    out->thousandths = -1;
    const char *decimals = *text + 1;
    bool has_three = **text == '.' && is_digit(decimals[0]) && is_digit(decimals[1]) &&
                     is_digit(decimals[2]) && !is_digit(decimals[3]);
    if (!has_three)
        return true;
    int64_t fraction = 0;
    *text = decimals;
    return read_digits(text, &fraction) &&
           !__builtin_mul_overflow(out->whole, RATE_STEPS, &out->thousandths) &&
           !__builtin_add_overflow(out->thousandths, fraction, &out->thousandths);
}

/* --- 3014 --------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide; /* products of pages, milliseconds and units */

/* The server prints bytes / seconds / unit cut (not rounded) to three decimals, where bytes may
 * be up to a page short per log file: true when some number of bytes in that range gives what was
 * printed. All in whole numbers: no rounding of ours can decide. */
static bool fits(int64_t pages, int64_t ms, int64_t printed, int64_t unit, int64_t log_files)
{
    wide most = (wide)pages * PAGE_BYTES * 1000 * RATE_STEPS;
    wide least = pages > log_files ? (wide)(pages - log_files) * PAGE_BYTES * 1000 * RATE_STEPS : 0;
    wide step = (wide)ms * (wide)unit;
    return (wide)printed * step <= most && ((wide)printed + 1) * step > least;
}

static void find_unit(struct backup_line *line, int64_t ms, int64_t printed)
{
    line->unit = UNIT_UNKNOWN;
    line->consistent = ms == 0; /* no time, no rate: nothing to check */
    for (int64_t log_files = 1; ms > 0 && !line->consistent && log_files <= LOG_FILES_MAX;
         log_files++) {
        bool mib = fits(line->pages, ms, printed, 1 << 20, log_files);
        bool mb = fits(line->pages, ms, printed, 1000000, log_files);
        line->consistent = mib || mb;
        if (mib != mb)
            line->unit = mib ? UNIT_MIB : UNIT_MB;
    }
}

bool message_read_success(const char *text, struct backup_line *out)
{
    struct printed number;
    int64_t pages = -1;
    int64_t decimals[2] = {-1, -1}; /* milliseconds, thousandths of the rate */
    int found = 0;
    while (found < 2 || pages < 0) {
        if (!next_number(&text, &number))
            return false;
        if (number.thousandths < 0 && pages < 0)
            pages = number.whole;
        else if (number.thousandths >= 0 && found < 2)
            decimals[found++] = number.thousandths;
    }
    struct backup_line line = {.pages = pages,
                               .seconds = (double)decimals[0] / 1000,
                               .printed_rate = (double)decimals[1] / RATE_STEPS};
    find_unit(&line, decimals[0], decimals[1]);
    *out = line;
    return true;
}

int message_read_percent(const char *text)
{
    struct printed number;
    if (!next_number(&text, &number) || number.thousandths >= 0 || number.whole > 100)
        return -1;
    return (int)number.whole;
}

/* --- one BACKUP --------------------------------------------------------------------------- */

/* Keeps what fits, cut at a character. */
static void keep_text(struct backup_messages *messages, const char *text)
{
    size_t length = strnlen(text, sizeof messages->error_text);
    if (length == sizeof messages->error_text) {
        length--;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
            length--;
    }
    memcpy(messages->error_text, text, length);
    messages->error_text[length] = '\0';
}

static void take_error(struct backup_messages *messages, int number, const char *text)
{
    messages->errors++;
    bool says_only_that_it_failed = messages->error_number == MESSAGE_TERMINATED;
    if (messages->error_number != 0 && !says_only_that_it_failed)
        return; /* the first cause stays */
    if (says_only_that_it_failed && number == MESSAGE_TERMINATED)
        return;
    messages->error_number = number;
    keep_text(messages, text);
}

void backup_messages_take(struct backup_messages *messages, int number, int severity,
                          const char *text)
{
    if (severity > SEVERITY_INFO_MAX) {
        take_error(messages, number, text);
        return;
    }
    if (number == MESSAGE_SUCCESS) {
        messages->success_seen = true;
        if (!message_read_success(text, &messages->line))
            messages->line = (struct backup_line){.pages = -1, .seconds = NAN, .printed_rate = NAN};
    }
    if (number == MESSAGE_PROGRESS) {
        int percent = message_read_percent(text);
        if (percent >= 0)
            messages->percent = percent;
    }
}

bool backup_messages_ok(const struct backup_messages *messages, bool batch_ok)
{
    return messages->success_seen && messages->errors == 0 && batch_ok;
}
