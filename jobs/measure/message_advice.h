#pragma once
/* What people who met a message of SQL Server found behind it: what its text does not say. By
 * number, and for device errors by the operating system's number, never by words (domain.md 2.2
 * and 8). Pure; works in any language. */

/* What to do about an error, as sentences; NULL when there is nothing to add to its text. text:
 * the message as the server sent it, for the operating system's number in it; may be NULL. Lives as
 * long as the process. */
const char *message_advice(int number, const char *text);

/* The operating system's number that a device error carries ("5(Access is denied.)"): digits right
 * before a bracket, which look the same in every language. -1: none. */
int message_os_error(int number, const char *text);
