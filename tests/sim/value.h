/* value.h: T-SQL types and values, their conversions and comparisons.
 * Times are counted in 100 ns from 0001-01-01. Text and binary content is borrowed from an arena.
 * Conversions return 0 or the number of SQL Server's error, so that callers can word it. */
#pragma once

#include "base.h"

enum vt { /* in ascending precedence, except VARIANT */
          VT_NULL,
          VT_VARBINARY,
          VT_VARCHAR,
          VT_NVARCHAR,
          VT_GUID,
          VT_BIT,
          VT_TINYINT,
          VT_SMALLINT,
          VT_INT,
          VT_BIGINT,
          VT_MONEY,
          VT_DECIMAL,
          VT_REAL,
          VT_FLOAT,
          VT_TIME,
          VT_DATE,
          VT_SMALLDATETIME,
          VT_DATETIME,
          VT_DATETIME2,
          VT_DATETIMEOFFSET,
          VT_VARIANT,
};

struct type {
    enum vt base;
    bool fixed;     /* char, nchar, binary */
    int length;     /* units of text, bytes of binary; -1 = max */
    int precision;  /* decimal */
    int scale;      /* decimal, and digits of seconds of time types */
    bool timestamp; /* sysname-like marks could follow; now only rowversion */
};

typedef __int128 dec_t; /* the one typedef: the compiler's name is not usable in C's grammar */

struct value {
    struct type type;
    bool is_null;
    int offset_min; /* datetimeoffset; the time itself is UTC */
    int64_t i;      /* bit, integers, money (1/10000), times */
    double f;       /* real, float */
    dec_t dec;      /* decimal, times ten to the scale */
    const char *s;  /* text (UTF-8, NUL at the end), binary, guid (16 bytes as on the wire) */
    size_t len;     /* bytes in s */
};

#define TICKS_PER_SECOND INT64_C(10000000)
#define TICKS_PER_DAY (86400 * TICKS_PER_SECOND)
#define TICKS_1900 (INT64_C(693595) * TICKS_PER_DAY)
#define TICKS_1970 (INT64_C(719162) * TICKS_PER_DAY)

struct type sim_type(enum vt base, int length);
struct type sim_type_decimal(int precision, int scale);
/* By name, as in CAST: "nvarchar" with its numbers (-2 = not given, -1 = max). False if unknown. */
bool sim_type_parse(const char *name, int a, int b, struct type *out);
const char *sim_type_name(const struct type *type);
int sim_type_max_bytes(const struct type *type); /* as sys.columns says */
bool sim_type_is_text(const struct type *type);
bool sim_type_is_int(const struct type *type); /* bit to bigint */
bool sim_type_is_time(const struct type *type);
bool sim_type_is_number(const struct type *type);
/* The type that CASE, UNION, COALESCE give for two branches. */
struct type sim_type_merge(struct type a, struct type b);

struct value sim_null(struct type type);
struct value sim_int(int64_t v);
struct value sim_bigint(int64_t v);
struct value sim_bit(bool v);
struct value sim_number(enum vt base, int64_t v);
struct value sim_float(double v);
struct value sim_text(const char *text); /* nvarchar as long as it is; NULL gives null */
struct value sim_text_n(const char *text, int length);
struct value sim_binary(const void *data, size_t len);
struct value sim_decimal(dec_t v, int precision, int scale);
struct value sim_time(enum vt base, int64_t ticks);
struct value sim_guid(const void *sixteen);

int sim_convert(struct arena *arena, const struct value *in, struct type to, int style,
                struct value *out);
/* The text of a value as CONVERT(nvarchar(max), v, style) has it. */
const char *sim_value_text(struct arena *arena, const struct value *v, int style);
/* Both not null. Returns -1, 0, 1, and the error's number in *error. */
int sim_compare(struct arena *arena, const struct value *a, const struct value *b, int *error);
/* op is one of + - * / % & | ^; both may be null. */
int sim_arith(struct arena *arena, char op, const struct value *a, const struct value *b,
              struct value *out);
struct type sim_arith_type(char op, struct type a, struct type b);
/* Times ten to the number; false when it does not fit. */
bool sim_dec_scale(dec_t *v, int by);
double sim_to_double(const struct value *v);

/* value_time.c */
struct civil {
    int year, month, day, hour, minute, second, fraction; /* fraction in ticks */
};
struct civil sim_civil(int64_t ticks);
int64_t sim_ticks(const struct civil *c);
bool sim_civil_valid(const struct civil *c);
int sim_time_parse(const char *text, struct type to, struct value *out);
const char *sim_time_text(struct arena *arena, const struct value *v, int style);
/* Rounds to what the type can hold (datetime: 1/300 s). */
int64_t sim_time_round(enum vt base, int scale, int64_t ticks);
/* DATEPART names: year, yy, month … nanosecond; -1 if unknown. */
int sim_datepart(const char *name);
int64_t sim_datepart_get(int part, const struct value *v);
int sim_dateadd(int part, int64_t n, const struct value *v, struct value *out);
int64_t sim_datediff(int part, int64_t from, int64_t to);
