#include "catalog.h"
const struct view tsql_trace_views[] = {{NULL, NULL, 0, NULL, 0, NULL, NULL}};
