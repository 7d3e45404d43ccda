/* Addresses and the table of what is not the public internet. */
#include "server/address.h"
#include "server/mem.h"

#include <netdb.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static void special_addresses_are_known_at_both_ends_of_their_range(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *what; /* NULL: public */
    } cases[] = {
        {"0.0.0.0", "unspecified"},
        {"0.255.255.255", "unspecified"},
        {"1.0.0.0", NULL},
        {"9.255.255.255", NULL},
        {"10.0.0.0", "private"},
        {"10.255.255.255", "private"},
        {"11.0.0.0", NULL},
        {"100.63.255.255", NULL},
        {"100.64.0.0", "carrier-grade NAT"},
        {"100.127.255.255", "carrier-grade NAT"},
        {"100.128.0.0", NULL},
        {"126.255.255.255", NULL},
        {"127.0.0.0", "loopback"},
        {"127.0.0.1", "loopback"},
        {"127.255.255.255", "loopback"},
        {"128.0.0.0", NULL},
        {"169.253.255.255", NULL},
        {"169.254.0.0", "link-local"},
        {"169.254.169.254", "link-local"},
        {"169.255.0.0", NULL},
        {"172.15.255.255", NULL},
        {"172.16.0.0", "private"},
        {"172.31.255.255", "private"},
        {"172.32.0.0", NULL},
        {"192.0.0.0", "protocol assignments"},
        {"192.0.0.255", "protocol assignments"},
        {"192.0.1.0", NULL},
        {"192.0.2.1", "documentation"},
        {"192.0.3.0", NULL},
        {"192.88.99.1", "6to4 relay"},
        {"192.167.255.255", NULL},
        {"192.168.0.0", "private"},
        {"192.168.255.255", "private"},
        {"192.169.0.0", NULL},
        {"198.17.255.255", NULL},
        {"198.18.0.0", "benchmarking"},
        {"198.19.255.255", "benchmarking"},
        {"198.20.0.0", NULL},
        {"198.51.100.7", "documentation"},
        {"203.0.113.7", "documentation"},
        {"223.255.255.255", NULL},
        {"224.0.0.1", "multicast"},
        {"239.255.255.255", "multicast"},
        {"240.0.0.0", "reserved"},
        {"255.255.255.255", "reserved"},
        {"8.8.8.8", NULL},
        {"::", "unspecified"},
        {"::1", "loopback"},
        {"::2", "IPv4-compatible"},
        {"::127.0.0.1", "IPv4-compatible"},
        {"::ffff:127.0.0.1", "IPv4-mapped"},
        {"::ffff:8.8.8.8", "IPv4-mapped"},
        {"::ffff:0:7f00:1", "IPv4-translated"},
        {"::1:0:0:0:0", "not global"},
        {"64:ff9b::7f00:1", "NAT64"},
        {"64:ff9b:1::7f00:1", "NAT64"},
        {"100::1", "discard-only"},
        {"1fff:ffff::1", "not global"},
        {"2000::1", NULL},
        {"2001::1", "Teredo"},
        {"2001:0:7f00:1::", "Teredo"},
        {"2001:2::1", "protocol assignments"},
        {"2001:10::1", "protocol assignments"},
        {"2001:1ff:ffff::1", "protocol assignments"},
        {"2001:200::1", NULL},
        {"2001:db8::1", "documentation"},
        {"2001:db8:ffff:ffff::", "documentation"},
        {"2001:db9::1", NULL},
        {"2001:4860:4860::8888", NULL},
        {"2002:7f00:1::", "6to4"},
        {"2002:a9fe:a9fe::1", "6to4"},
        {"2003::1", NULL},
        {"2606:4700::1111", NULL},
        {"3ffe:ffff::1", NULL},
        {"3fff::1", "documentation"},
        {"3fff:1000::1", NULL},
        {"4000::1", "not global"},
        {"5f00::1", "not global"},
        {"fbff::1", "not global"},
        {"fc00::1", "unique local"},
        {"fdff:ffff::1", "unique local"},
        {"fe80::1", "link-local"},
        {"febf::1", "link-local"},
        {"fec0::1", "site-local"},
        {"feff::1", "site-local"},
        {"ff02::1", "multicast"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct address address;
        assert_true(address_parse(cases[i].text, &address));
        const char *what = address_special(&address);
        if (!cases[i].what)
            assert_null(what);
        else
            assert_string_equal(what ? what : "public", cases[i].what);
    }
}

/* The ways to write an inside address that a resolver understands: what counts is the socket's
 * address, and no spelling of it gets round that. */
static void every_spelling_of_an_inside_address_is_special(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7f.0.0.0x1",
        "017700000001",
        "0177.0.0.1",
        "0177.1",
        "0",
        "0.0.0.0",
        "0x0",
        "10.1",
        "192.168.257",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "100.64.1",
        "::1",
        "::ffff:7f00:1",
        "::ffff:127.0.0.1",
        "::7f00:1",
        "64:ff9b::127.0.0.1",
        "2002:7f00:1::1",
        "2002:a9fe:a9fe::",
        "fd00::1",
        "fe80::1",
        "::",
        "0:0:0:0:0:0:0:1",
        "0000::0001",
    };
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
        struct addrinfo *found = NULL;
        struct address address;
        assert_int_equal(getaddrinfo(spellings[i], "80", &hints, &found), 0);
        assert_true(address_from_socket(found->ai_addr, &address));
        assert_non_null(address_special(&address));
        freeaddrinfo(found);
    }
    print_message("%zu spellings of inside addresses: each known\n",
                  sizeof spellings / sizeof spellings[0]);
}

static void other_families_have_no_address(void **state)
{
    (void)state;
    struct address address;
    struct sockaddr local = {.sa_family = AF_UNIX};
    assert_false(address_from_socket(&local, &address));
}

static void networks_contain_what_shares_their_prefix(void **state)
{
    (void)state;
    static const struct {
        const char *network, *address;
        bool inside;
    } cases[] = {
        {"10.0.0.0/8", "10.1.2.3", true},
        {"10.0.0.0/8", "11.0.0.0", false},
        {"192.168.4.0/23", "192.168.5.255", true},
        {"192.168.4.0/23", "192.168.6.0", false},
        {"192.168.4.7", "192.168.4.7", true},
        {"192.168.4.7", "192.168.4.6", false},
        {"192.168.4.7/32", "192.168.4.7", true},
        {"0.0.0.0/0", "127.0.0.1", true},
        {"0.0.0.0/0", "::1", false},
        {"::/0", "fe80::1", true},
        {"::/0", "127.0.0.1", false},
        {"fd00::/8", "fdff::1", true},
        {"fd00::/8", "fc00::1", false},
        {"2001:db8::/33", "2001:db8:7fff::1", true},
        {"2001:db8::/33", "2001:db8:8000::1", false},
        {"::1", "::1", true},
        {"127.0.0.0/8", "::ffff:127.0.0.1", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct address_network network;
        struct address address;
        assert_true(address_parse_network(cases[i].network, &network));
        assert_true(address_parse(cases[i].address, &address));
        assert_int_equal(address_is_in(&address, &network), cases[i].inside);
    }
}

static void mistyped_networks_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "/",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/08",
        "10.0.0/8",
        "10.0.0.1/8",
        "10.0.0.0/8/8",
        "10.0.0.0/ 8",
        "::/129",
        "fd00::1/8",
        "localhost",
        "[::1]",
        "10.0.0.0 /8",
        "0x0a000000/8",
        "10.0.0.0/8a",
        "fe80::1%lo",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa/8",
    };
    struct address_network network;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_false(address_parse_network(cases[i], &network));
}

static void addresses_are_written_in_their_short_form(void **state)
{
    (void)state;
    struct address address;
    char text[ADDRESS_TEXT_SIZE];
    assert_true(address_parse("2001:0db8:0:0:0:0:0:1", &address));
    assert_string_equal(address_format(&address, text), "2001:db8::1");
    assert_true(address_parse("192.0.2.1", &address));
    assert_string_equal(address_format(&address, text), "192.0.2.1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_addresses_are_known_at_both_ends_of_their_range),
        cmocka_unit_test(every_spelling_of_an_inside_address_is_special),
        cmocka_unit_test(other_families_have_no_address),
        cmocka_unit_test(networks_contain_what_shares_their_prefix),
        cmocka_unit_test(mistyped_networks_are_refused),
        cmocka_unit_test(addresses_are_written_in_their_short_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
