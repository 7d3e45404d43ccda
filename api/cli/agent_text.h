#pragma once
/* Texts for SQL Server Agent: filled templates, and what may stand in them. Pure. */
#include "server/buf.h"

#include <stddef.h>

/* A JSON text that json_parse takes, as the same JSON of few characters: no blanks, and in strings
 * only letters, digits, blanks and -_./:,+; all else is \uXXXX. What is left needs no care in a
 * T-SQL or PowerShell text, and of cmd.exe's, a shell's and Agent's own characters only the
 * quotation marks and backslashes before a 'u' remain. */
void agent_text_json(const char *json, size_t length, struct buf *out);

/* Text (UTF-8) as a T-SQL expression of ASCII only: N'it''s', in parts where it holds other than
 * ASCII, or "$(", which sqlcmd would take for a variable. */
void agent_text_tsql(const char *text, struct buf *out);

/* Every " as \": so it stands in an argument in quotation marks, for Windows programs and for sh.
 */
void agent_text_argument(const char *text, struct buf *out);

struct agent_place {
    const char *name;
    const char *value;
};

/* The template with its {{places}} filled, without its last line's end. Every place it names must
 * be among these (the last row has no name). */
void agent_text_fill(const char *template, const struct agent_place *places, struct buf *out);
