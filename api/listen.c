#include "api/listen.h"
#include "server/log.h"
#include "server/mem.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 1024 /* a burst of clients waits here instead of being refused */

/* Splits at the last colon; both parts are the caller's. False when there is none. */
static bool split(const char *address, char **out_host, char **out_port)
{
    const char *colon = strrchr(address, ':');
    if (!colon || colon == address || colon[1] == '\0')
        return false;
    size_t length = (size_t)(colon - address);
    bool bracketed = address[0] == '[' && address[length - 1] == ']';
    if (!bracketed && memchr(address, ':', length))
        return false; /* an IPv6 address without brackets */
    *out_host =
        mem_format("%.*s", (int)(bracketed ? length - 2 : length), address + (bracketed ? 1 : 0));
    *out_port = mem_copy(colon + 1);
    return true;
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 in6;
    memcpy(&in6, address, sizeof in6);
    return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

static int bound_port(int fd)
{
    struct sockaddr_storage bound = {0};
    socklen_t length = sizeof bound;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    if (getsockname(fd, (struct sockaddr *)&bound, &length) < 0)
        return -1;
    memcpy(&in, &bound, sizeof in);
    memcpy(&in6, &bound, sizeof in6);
    return ntohs(bound.ss_family == AF_INET ? in.sin_port : in6.sin6_port);
}

/* Makes, binds and listens; -1 with errno. */
static int open_on(const struct addrinfo *info)
{
    int on = 1;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* a restart must not wait for old connections to time out */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, info->ai_addr, info->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        int saved = errno;
        (void)close(fd); /* nothing was written */
        errno = saved;
        return -1;
    }
    return fd;
}

int listen_open(const char *address, struct listen_socket *out, struct err *err)
{
    int rc = -1;
    char *host = NULL;
    char *port = NULL;
    struct addrinfo *info = NULL;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    if (!split(address, &host, &port)) {
        err_set(err, ERR_INPUT, 0, "listen on %s: an address is HOST:PORT", log_quote(address));
        goto out;
    }
    if (strcmp(host, "localhost") != 0)
        hints.ai_flags |= AI_NUMERICHOST; /* a name would be looked up on the network */
    int failed = getaddrinfo(host, port, &hints, &info);
    if (failed) {
        err_set(err, ERR_INPUT, failed, "listen on %s: %s", log_quote(address),
                gai_strerror(failed));
        goto out;
    }
    int fd = open_on(info);
    if (fd < 0) {
        err_set(err, ERR_SYSTEM, errno, "listen on %s: %s", log_quote(address), strerror(errno));
        goto out;
    }
    *out = (struct listen_socket){
        .fd = fd, .port = bound_port(fd), .is_loopback = is_loopback(info->ai_addr)};
    rc = 0;
out:
    if (info)
        freeaddrinfo(info);
    free(host);
    free(port);
    return rc;
}
