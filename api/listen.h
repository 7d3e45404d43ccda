#pragma once
/* The listening socket: bound by us, so that port 0 works and the address is known before
 * anything is served. */
#include "server/err.h"

#include <stdbool.h>

struct listen_socket {
    int fd;
    int port;         /* the one really bound */
    bool is_loopback; /* nobody outside this machine reaches it */
};

/* address is HOST:PORT or [HOST]:PORT; HOST is an address or localhost. ERR_INPUT, ERR_SYSTEM. */
MUST_CHECK int listen_open(const char *address, struct listen_socket *out, struct err *err);
