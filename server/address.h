#pragma once
/* IP addresses and networks, and the table of ranges that are not the public internet: what a
 * webhook's URL must not reach unless it was allowed. Pure; threads: any. */
#include <stdbool.h>
#include <stdint.h>

struct sockaddr;

struct address {
    int family;        /* AF_INET or AF_INET6 */
    uint8_t bytes[16]; /* network order; 4 or 16 of them count */
};

struct address_network {
    struct address base;
    int bits; /* of the prefix */
};

#define ADDRESS_TEXT_SIZE 46 /* INET6_ADDRSTRLEN */

/* Reads "192.0.2.1" or "2001:db8::1", in these forms only. */
bool address_parse(const char *text, struct address *out);

/* Reads "192.0.2.0/24", or an address alone for a network of one. Bits set behind the prefix are a
 * mistake and refused. */
bool address_parse_network(const char *text, struct address_network *out);

/* False for families other than IPv4 and IPv6. */
bool address_from_socket(const struct sockaddr *socket, struct address *out);

/* Never true across families: an IPv4 network does not contain IPv4-mapped IPv6 addresses. */
bool address_is_in(const struct address *address, const struct address_network *network);

/* What kind of special range the address is in ("loopback"); NULL when it is a public one. */
const char *address_special(const struct address *address);

/* Returns out. */
const char *address_format(const struct address *address, char out[ADDRESS_TEXT_SIZE]);
