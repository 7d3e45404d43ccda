#pragma once
/* Errors as values: every function that can fail returns 0 or -1 and fills a struct err.
 * The message is a sentence for people: what was tried, on what, what came back.
 * Threads: a struct err belongs to its caller's stack. */
#include <stdarg.h>

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* What a caller treats differently; api/problem.c maps each to one HTTP status. */
enum err_code {
    ERR_NONE = 0,
    ERR_INPUT,       /* the caller's data is wrong */
    ERR_NOT_FOUND,   /* no such thing */
    ERR_CONFLICT,    /* not in this state */
    ERR_REFUSED,     /* a guard, a limit or a right says no; trying again does not help */
    ERR_UNREACHABLE, /* the other side cannot be reached now; trying again may help */
    ERR_SQL,         /* SQL Server answered with an error; detail is its number */
    ERR_CANCELLED,   /* we were asked to stop */
    ERR_TIMEOUT,     /* a deadline of ours passed */
    ERR_STORE,       /* the results database failed; detail is its number */
    ERR_SYSTEM,      /* the operating system failed; detail is errno */
};

struct err {
    enum err_code code;
    int detail;    /* errno, SQLite or SQL Server number; 0 when none */
    char msg[480]; /* UTF-8, cut at a character; room for a SQL Server message with its context */
};

/* Fills *err (which may be NULL) and returns -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_code code, int detail, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* Puts "context: " before the message of a filled error; returns -1. */
int err_wrap(struct err *err, const char *context);

/* Empties an error. */
void err_clear(struct err *err);
