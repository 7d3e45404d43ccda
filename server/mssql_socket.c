/* The socket below a session. The driver does not tell it, and nothing else ends a call in which
 * the driver waits for a server that does not answer any more. It is the one that appeared while
 * the session logged in; where two logged in at once it may be either's, and is not known then. */
#include "server/lock.h"
#include "server/mem.h"
#include "server/mssql_inner.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/tcp.h> /* netinet's tcp_info ends before tcpi_bytes_received */
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static struct lock logins = LOCK_INIT; /* guards the two below */
static int under_way;
static uint64_t begun; /* logins since the start */

/* True for a connection to this port of any host. */
static bool leads_to(int fd, int port)
{
    struct sockaddr_storage peer = {0};
    socklen_t size = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &size) < 0)
        return false;
    if (peer.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&peer)->sin_port) == port;
    return peer.ss_family == AF_INET6 &&
           ntohs(((const struct sockaddr_in6 *)&peer)->sin6_port) == port;
}

/* The process's connections to this port. The caller frees the array. */
static size_t list(int port, int **out_fds)
{
    size_t count = 0;
    size_t capacity = 0;
    DIR *folder = opendir("/proc/self/fd");
    *out_fds = NULL;
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry; entry = readdir(folder)) {
        int fd = (int)strtol(entry->d_name, NULL, 10); /* "." and "..": 0, which leads nowhere */
        if (!leads_to(fd, port))
            continue;
        *out_fds = mem_grow(*out_fds, &capacity, count + 1, sizeof **out_fds);
        (*out_fds)[count++] = fd;
    }
    if (folder)
        (void)closedir(folder);
    return count;
}

void mssql_login_begin(struct mssql_login *login, int port)
{
    *login = (struct mssql_login){.port = port};
    lock_take(&logins);
    login->turn = ++begun;
    login->alone = under_way++ == 0;
    lock_drop(&logins);
    login->count = list(port, &login->before);
}

static bool contains(const int *fds, size_t count, int fd)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] == fd)
            return true;
    return false;
}

int mssql_login_end(struct mssql_login *login)
{
    int *after;
    int found = -1;
    int fresh = 0;
    size_t count = list(login->port, &after);
    for (size_t i = 0; i < count; i++)
        if (!contains(login->before, login->count, after[i])) {
            found = after[i];
            fresh++;
        }
    lock_take(&logins);
    under_way--;
    bool alone = login->alone && begun == login->turn;
    lock_drop(&logins);
    free(after);
    free(login->before);
    return alone && fresh == 1 ? found : -1;
}

void mssql_socket_drop(int fd, int port)
{
    if (fd >= 0 && leads_to(fd, port)) /* else the driver closed it meanwhile */
        (void)shutdown(fd, SHUT_RDWR); /* the driver's call ends, and closes it */
}

bool mssql_socket_input(int fd, int port, struct mssql_input *out)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    *out = (struct mssql_input){0};
    if (fd < 0 || !leads_to(fd, port) || getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 ||
        size < offsetof(struct tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received ||
        ioctl(fd, FIONREAD, &out->unread) < 0)
        return false;
    out->received = info.tcpi_bytes_received;
    return true;
}
