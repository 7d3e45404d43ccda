#include "server/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The IANA special-purpose registries (RFC 6890 and its followers), multicast, and all of IPv6
 * that is not 2000::/3. Ranges that carry an IPv4 address inside are refused as a whole: a
 * translator on the way would lead them to the inside. The first row that fits gives the name. */
static const struct {
    const char *network;
    const char *what;
} special[] = {
    /* clang-format off */
    {"0.0.0.0/8",          "unspecified"},
    {"10.0.0.0/8",         "private"},
    {"100.64.0.0/10",      "carrier-grade NAT"},
    {"127.0.0.0/8",        "loopback"},
    {"169.254.0.0/16",     "link-local"},        /* cloud metadata services, too */
    {"172.16.0.0/12",      "private"},
    {"192.0.0.0/24",       "protocol assignments"},
    {"192.0.2.0/24",       "documentation"},
    {"192.88.99.0/24",     "6to4 relay"},
    {"192.168.0.0/16",     "private"},
    {"198.18.0.0/15",      "benchmarking"},
    {"198.51.100.0/24",    "documentation"},
    {"203.0.113.0/24",     "documentation"},
    {"224.0.0.0/4",        "multicast"},
    {"240.0.0.0/4",        "reserved"},          /* with 255.255.255.255 */
    {"::/128",             "unspecified"},
    {"::1/128",            "loopback"},
    {"::ffff:0:0/96",      "IPv4-mapped"},
    {"::ffff:0:0:0/96",    "IPv4-translated"},
    {"::/96",              "IPv4-compatible"},
    {"64:ff9b::/96",       "NAT64"},
    {"64:ff9b:1::/48",     "NAT64"},
    {"100::/64",           "discard-only"},
    {"2001::/32",          "Teredo"},
    {"2001::/23",          "protocol assignments"},
    {"2001:db8::/32",      "documentation"},
    {"2002::/16",          "6to4"},
    {"3fff::/20",          "documentation"},
    {"fc00::/7",           "unique local"},
    {"fe80::/10",          "link-local"},
    {"fec0::/10",          "site-local"},
    {"ff00::/8",           "multicast"},
    {"::/3",               "not global"},
    {"4000::/2",           "not global"},
    {"8000::/1",           "not global"},
    /* clang-format on */
};

static int family_bits(int family)
{
    return family == AF_INET ? 32 : 128;
}

bool address_parse(const char *text, struct address *out)
{
    struct address address = {.family = AF_INET};
    if (inet_pton(AF_INET, text, address.bytes) != 1) {
        address.family = AF_INET6;
        if (inet_pton(AF_INET6, text, address.bytes) != 1)
            return false;
    }
    *out = address;
    return true;
}

static bool bit_at(const struct address *address, int index)
{
    return (address->bytes[index / 8] >> (7 - index % 8)) & 1;
}

/* Reads 0..128 without sign, blanks or leading zeros; -1 otherwise. */
static int parse_bits(const char *text)
{
    int value = 0;
    size_t length = strlen(text);
    if (length == 0 || length > 3 || (length > 1 && text[0] == '0'))
        return -1;
    for (const char *at = text; *at; at++) {
        if (*at < '0' || *at > '9')
            return -1;
        value = value * 10 + (*at - '0');
    }
    return value;
}

bool address_parse_network(const char *text, struct address_network *out)
{
    char base[ADDRESS_TEXT_SIZE];
    struct address_network network;
    size_t length = strcspn(text, "/");
    if (length >= sizeof base)
        return false;
    memcpy(base, text, length);
    base[length] = '\0';
    if (!address_parse(base, &network.base))
        return false;
    int most = family_bits(network.base.family);
    network.bits = text[length] == '/' ? parse_bits(text + length + 1) : most;
    if (network.bits < 0 || network.bits > most)
        return false;
    for (int i = network.bits; i < most; i++)
        if (bit_at(&network.base, i))
            return false;
    *out = network;
    return true;
}

bool address_from_socket(const struct sockaddr *socket, struct address *out)
{
    struct address address = {.family = socket->sa_family};
    if (socket->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, socket, sizeof v4); /* a copy: the storage need not be aligned for it */
        memcpy(address.bytes, &v4.sin_addr, 4);
    } else if (socket->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, socket, sizeof v6);
        memcpy(address.bytes, &v6.sin6_addr, 16);
    } else {
        return false;
    }
    *out = address;
    return true;
}

bool address_is_in(const struct address *address, const struct address_network *network)
{
    if (address->family != network->base.family)
        return false;
    for (int i = 0; i < network->bits; i++)
        if (bit_at(address, i) != bit_at(&network->base, i))
            return false;
    return true;
}

const char *address_special(const struct address *address)
{
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        struct address_network network;
        bool valid = address_parse_network(special[i].network, &network);
        assert(valid);
        if (address_is_in(address, &network))
            return special[i].what;
    }
    return NULL;
}

const char *address_format(const struct address *address, char out[ADDRESS_TEXT_SIZE])
{
    if (!inet_ntop(address->family, address->bytes, out, ADDRESS_TEXT_SIZE))
        out[0] = '\0';
    return out;
}
