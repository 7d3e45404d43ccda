#include "jobs/measure/message_advice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ANY (-2) /* whatever the operating system said */

/* Errors that carry an operating system's number, and where it stands: in 3633 and 3634 before the
 * file's name, in the others behind it. A folder may be called "old 5(b)". */
static const struct {
    int number;
    bool first;
} device_errors[] = {{3201, false}, {3202, false}, {3203, false}, {3271, false},
                     {3633, true},  {3634, true},  {5123, false}, {5128, false}};

/* clang-format off */
/* The first row that fits counts. */
static const struct {
    int number, os_error;
    const char *path; /* that the text must hold; NULL: any */
    const char *advice;
} table[] = {
    {3201, 5, NULL, "The account that the SQL Server service runs under (not the login) lacks the right to write there, or the path is a folder; paths are those that the server's host sees."},
    {3201, 2, NULL, "The folder is not there on the server's host; paths are those that the server sees, under the account its service runs under."},
    {3201, 3, NULL, "The folder is not there on the server's host; paths are those that the server sees, under the account its service runs under. A folder that this account may not enter looks the same."},
    {3201, 32, NULL, "Another process holds the file, such as a virus scanner or a copy job."},
    {3201, 53, NULL, "The server's host does not find that share; a share is opened under the account that the SQL Server service runs under."},
    {3201, 1326, NULL, "The file server does not know the account that the SQL Server service runs under; a local account reaches no share."},
    {3202, 112, NULL, "The disk is full. A compressed backup asks for about a third of the database at once, whatever it comes to in the end; trace flag 3042 lets the file grow as needed."},
    {3634, 31, "/dev/null", "/dev/null is no target for BACKUP; NUL discards on every platform, Linux too."},
    {3634, ANY, NULL, "The file was written, and giving back what had been pre-allocated failed: the server calls such a backup failed, and so do we. It is known from shares; trace flag 3042 leaves the pre-allocation out."},
    {3633, ANY, NULL, "An operation on the file failed on the operating system's side. Where it is the end of the file of a compressed backup, trace flag 3042 leaves out the pre-allocation that asks for it."},
    {3204, ANY, NULL, "The client went away or cancelled before the server had finished: there is no whole backup, however many pages were told."},
    {3291, ANY, NULL, "A page blob (a URL with an account key) takes no MAXTRANSFERSIZE; a block blob (shared access signature) does."},
    {3063, ANY, NULL, "A block blob holds 50,000 blocks: use more stripes, MAXTRANSFERSIZE = 4194304 and COMPRESSION."},
    {3059, ANY, NULL, "A secondary replica takes full backups with COPY_ONLY only."},
    {3035, ANY, NULL, "The differential base is gone: often a snapshot of the machine or of its volumes (VSS) that was no copy took its place. msdb shows it with device_type 7."},
    {3021, ANY, NULL, "BACKUP runs in no transaction, neither one that a tool opened nor an implicit one."},
    {1844, ANY, NULL, "This edition cannot do that; leave the option out, or measure on another one."},
    {701, ANY, NULL, "Buffers take BUFFERCOUNT x MAXTRANSFERSIZE, three times that when compressed, outside of the buffer pool. Use fewer or smaller ones."},
    {802, ANY, NULL, "The buffer pool had no room. Use fewer or smaller backup buffers."},
    {5128, ANY, NULL, "The disk of the snapshot is full. The snapshot is lost, its source is not affected."},
    {5127, ANY, NULL, "A snapshot has to name every data file of its source; somebody may have added one just now."},
};
/* clang-format on */

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* The digits that end right before `bracket`; -1 when there are none, or too many. */
static int number_before(const char *text, const char *bracket)
{
    const char *start = bracket;
    while (start > text && is_digit(start[-1]))
        start--;
    if (start == bracket || bracket - start > 6)
        return -1;
    return (int)strtol(start, NULL, 10);
}

int message_os_error(int number, const char *text)
{
    size_t row = 0;
    int found = -1;
    while (row < sizeof device_errors / sizeof device_errors[0] &&
           device_errors[row].number != number)
        row++;
    if (!text || row == sizeof device_errors / sizeof device_errors[0])
        return -1;
    for (const char *at = strchr(text, '('); at; at = strchr(at + 1, '(')) {
        int here = number_before(text, at);
        if (here < 0)
            continue;
        found = here;
        if (device_errors[row].first)
            break;
    }
    return found;
}

const char *message_advice(int number, const char *text)
{
    int os_error = message_os_error(number, text);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].number == number &&
            (table[i].os_error == ANY || table[i].os_error == os_error) &&
            (!table[i].path || (text && strstr(text, table[i].path))))
            return table[i].advice;
    return NULL;
}
