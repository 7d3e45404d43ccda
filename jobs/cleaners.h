#pragma once
/* Which instances are being cleaned up just now, so that nobody measures there meanwhile and two
 * clean-ups do not meet. Whoever cleans takes the instance first and reads what is open after that;
 * the scheduler claims no measuring job on a taken one. Threads: any. */
#include <stdbool.h>

struct cleaners;

struct cleaners *cleaners_new(void);
void cleaners_free(struct cleaners *cleaners);

/* False when somebody cleans it already. Without a registry (NULL) everything is free. */
bool cleaners_take(struct cleaners *cleaners, const char *instance);
void cleaners_drop(struct cleaners *cleaners, const char *instance);
bool cleaners_has(struct cleaners *cleaners, const char *instance);
