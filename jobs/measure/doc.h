#pragma once
/* A document for people, told once and written in one of two forms: Markdown (CommonMark with
 * tables) or the inside of an HTML page (well formed as XML, too). What we say ourselves goes in
 * as it is; text from outside can be nothing but text in either form. Also reading the members of
 * a report, of which any may be missing. Pure. */
#include "server/buf.h"
#include "server/json.h"

enum doc_form { DOC_MARKDOWN, DOC_HTML };

/* What surrounds text; nested only where a line says so. */
enum doc_part {
    DOC_PARAGRAPH,
    DOC_VERDICT, /* the first paragraph: the answer */
    DOC_ALERT,   /* a paragraph that must not be overlooked */
    DOC_HEADING,
    DOC_LIST, /* holds items */
    DOC_ITEM,
    DOC_STRONG, /* in any of the others, and in cells */
};
#define DOC_PART_COUNT (DOC_STRONG + 1)

struct doc;

/* Writes one cell; value may be NULL or of any type. */
typedef void doc_writer(struct doc *doc, const cJSON *value);

struct doc_column {
    const char *title;
    bool is_number; /* set to the right */
    /* of tables that doc_rows writes */
    const char *member; /* of a row; NULL: the writer gets the row itself */
    doc_writer *write;
};

struct doc {
    enum doc_form form;
    struct buf out;
    /* the table that is being written */
    const struct doc_column *columns; /* NULL: none */
    size_t column_count;
    size_t column; /* cells begun in this row */
};

/* The text; the caller frees it. */
char *doc_take(struct doc *doc);

void doc_begin(struct doc *doc, enum doc_part part);
void doc_end(struct doc *doc, enum doc_part part);

/* A heading of words of ours. */
void doc_heading(struct doc *doc, const char *words);

/* A table; its columns live as long as it is written, and `name` says what it is to who hears it.
 * Each row begins with doc_row (chosen: the one the report is about), each of its cells with
 * doc_cell; the first names the row. Rows with too few or too many cells are a bug. */
void doc_table(struct doc *doc, const char *name, const struct doc_column *columns, size_t count);
void doc_row(struct doc *doc, bool is_chosen);
void doc_cell(struct doc *doc);
void doc_table_end(struct doc *doc);

/* A whole table: a row for each item of rows, each cell by its column's writer. */
void doc_rows(struct doc *doc, const char *name, const struct doc_column *columns, size_t count,
              const cJSON *rows);

/* A block to be copied: what it is, its language, its text. */
void doc_code(struct doc *doc, const char *title, const char *language, const char *text);

/* --- words and numbers, in whatever has begun */

/* Words of ours: no Markdown, any character. Arguments are ours, too. */
void doc_say(struct doc *doc, const char *format, ...) PRINTF_LIKE(2, 3);
/* Text from outside; control characters become blanks, in HTML those that change the direction of
 * what follows are shown by number. NULL: unknown. */
void doc_text(struct doc *doc, const char *text);
/* A word that HTML sets beside what was said last, in its own box; Markdown has none. */
void doc_tag(struct doc *doc, const char *word);
/* The word of a comparison ("faster", …); others are text. */
void doc_verdict_word(struct doc *doc, const char *word);
/* What is not known: a dash in Markdown, a word in HTML. */
void doc_unknown(struct doc *doc);
/* Numbers for reading; NaN and Infinity are unknown. */
void doc_rate(struct doc *doc, double value);                 /* 4 to 6 digits */
void doc_ratio(struct doc *doc, double value, double beside); /* decimals fit `beside` */
void doc_percent(struct doc *doc, double share);              /* 0.9375: 93.75 % */
void doc_count(struct doc *doc, double value);

/* The same as writers of columns; what is no text or number is unknown. A ratio has the decimals
 * that fit itself. */
doc_writer doc_write_text, doc_write_verdict_word;
doc_writer doc_write_rate, doc_write_ratio, doc_write_percent, doc_write_count;

/* --- members of a report */

/* NaN when there is no such member or it is no number. */
double doc_number_of(const cJSON *object, const char *name);
/* NULL when there is no such member or it is no text. */
const char *doc_text_of(const cJSON *object, const char *name);
