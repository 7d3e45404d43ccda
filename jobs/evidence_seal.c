#include "jobs/evidence_seal.h"
#include "jobs/evidence.h"
#include "server/hash.h"
#include "server/mem.h"

#include <stdlib.h>
#include <string.h>

#define SEAL_START ",\"sha256\":\""
#define SEAL_END "\"}"
#define DIGITS (HASH_HEX_SIZE - 1)
#define SEAL_BYTES (sizeof SEAL_START - 1 + DIGITS + sizeof SEAL_END - 1)

char *evidence_seal(char *text)
{
    char hex[HASH_HEX_SIZE];
    size_t length = strlen(text);
    hash_hex(text, hex);
    text[length - 1] = '\0'; /* the closing brace */
    char *sealed = mem_format("%s" SEAL_START "%s" SEAL_END, text, hex);
    free(text);
    return sealed;
}

/* Drops white space outside of strings, in place; the new length. */
static size_t make_compact(char *text, size_t length)
{
    size_t used = 0;
    bool inside = false;
    for (size_t i = 0; i < length; i++) {
        char byte = text[i];
        if (!inside && (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'))
            continue;
        text[used++] = byte;
        if (byte == '"')
            inside = !inside;
        else if (inside && byte == '\\' && i + 1 < length)
            text[used++] = text[++i];
    }
    text[used] = '\0';
    return used;
}

/* The digits of a compact text that ends as a sealed one; NULL when it does not. */
static char *find_seal(char *text, size_t length)
{
    if (length < SEAL_BYTES)
        return NULL;
    char *seal = text + length - SEAL_BYTES;
    char *digits = seal + sizeof SEAL_START - 1;
    bool found = memcmp(seal, SEAL_START, sizeof SEAL_START - 1) == 0 &&
                 memcmp(digits + DIGITS, SEAL_END, sizeof SEAL_END - 1) == 0;
    return found ? digits : NULL;
}

int evidence_check_seal(const char *text, size_t length, struct err *err)
{
    char hex[HASH_HEX_SIZE];
    char given[HASH_HEX_SIZE] = "";
    char *copy = mem_alloc(length + 1, 1);
    int rc = 0;
    memcpy(copy, text, length);
    char *digits = find_seal(copy, make_compact(copy, length));
    if (!digits) {
        rc = err_set(err, ERR_INPUT, 0, "its last member must be the checksum \"sha256\"");
    } else {
        char *seal = digits - (sizeof SEAL_START - 1);
        memcpy(given, digits, DIGITS);
        seal[0] = '}';
        seal[1] = '\0';
        if (strcmp(hash_hex(copy, hex), given) != 0)
            rc = err_set(err, ERR_INPUT, 0,
                         "the checksum is wrong: something was changed since it was made");
    }
    free(copy);
    return rc;
}

const char *evidence_sum(const char *text)
{
    size_t length = strlen(text);
    if (length < SEAL_BYTES)
        return NULL;
    const char *seal = text + length - SEAL_BYTES;
    return memcmp(seal, SEAL_START, sizeof SEAL_START - 1) == 0 ? seal + sizeof SEAL_START - 1
                                                                : NULL;
}
