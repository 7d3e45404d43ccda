#include "api/holding.h"

bool holding_take(struct http *http)
{
    unsigned most = http->crowd - http->crowd / 7; /* seven of eight parts; six of eight */
    if (atomic_fetch_add(&http->held, 1) < most)
        return true;
    atomic_fetch_sub(&http->held, 1);
    return false;
}

void holding_drop(struct http *http)
{
    atomic_fetch_sub(&http->held, 1);
}
