/* Feeds a fuzz target without libFuzzer, so that every build can: each file of its corpus as it is,
 * then inputs made of them by small changes. The same seed gives the same inputs. */
#include "server/log.h"
#include "server/mem.h"
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 4096
#define SEEDS_MAX 64
#define CHANGES_MAX 6
#define INPUTS_DEFAULT 20000

struct input {
    unsigned char bytes[INPUT_MAX];
    size_t size;
};

static struct input seeds[SEEDS_MAX];
static size_t seed_count;
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static void read_corpus(const char *folder)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, NULL, alphasort); /* in one order everywhere */
    for (int i = 0; i < count; i++) {
        char *path = mem_format("%s/%s", folder, names[i]->d_name);
        FILE *file = names[i]->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (file && seed_count < SEEDS_MAX) {
            struct input *seed = &seeds[seed_count++];
            seed->size = fread(seed->bytes, 1, INPUT_MAX, file);
        }
        if (file)
            (void)fclose(file); /* only read */
        free(path);
        free(names[i]);
    }
    free(names);
}

static void insert(struct input *input, size_t at, const unsigned char *bytes, size_t size)
{
    if (input->size + size > INPUT_MAX)
        return;
    memmove(input->bytes + at + size, input->bytes + at, input->size - at);
    memcpy(input->bytes + at, bytes, size);
    input->size += size;
}

static void cut(struct input *input, size_t at, size_t size)
{
    memmove(input->bytes + at, input->bytes + at + size, input->size - at - size);
    input->size -= size;
}

/* Bytes that mean something to most of what reads text or counts. */
static void add_telling(struct input *input, size_t at)
{
    static const char *const pieces[] = {
        "\r\n",
        "\n",
        "\"",
        "'",
        "]",
        "\\",
        "{",
        "}",
        ",",
        ":",
        "%",
        "=",
        "@",
        "-1",
        "00",
        "\xFF",
        "\xC2\x9B",
        "\x1B[31m",
        "..",
        "/",
        "#",
        ";",
        "--",
        "\xE2\x80",
        "4294967296",
        "\xF0\x9F\x98\x80",
        "9999999999999999999999",
    };
    const char *piece = pieces[draw(sizeof pieces / sizeof pieces[0])];
    insert(input, at, (const unsigned char *)piece, strlen(piece));
}

static void change(struct input *input)
{
    const struct input *other = &seeds[draw(seed_count)];
    size_t at = draw(input->size + 1);
    size_t rest = input->size - at;
    unsigned char byte = (unsigned char)draw(256);
    switch (draw(7)) {
    case 0:
        if (rest > 0)
            input->bytes[at] ^= (unsigned char)(1U << draw(8));
        break;
    case 1:
        if (rest > 0)
            input->bytes[at] = byte;
        break;
    case 2:
        insert(input, at, &byte, 1);
        break;
    case 3:
        if (rest > 0)
            cut(input, at, 1 + draw(rest < 16 ? rest : 16));
        break;
    case 4:
        add_telling(input, at);
        break;
    case 5: /* a piece of another seed */
        if (other->size > 0) {
            size_t from = draw(other->size);
            insert(input, at, other->bytes + from, 1 + draw(other->size - from));
        }
        break;
    default: /* the end is missing */
        if (draw(8) == 0)
            input->size = at;
        break;
    }
}

/* In a buffer of just that size, so that a sanitizer sees a byte too much. */
static void feed(const struct input *input)
{
    unsigned char *bytes = mem_alloc(input->size + !input->size, 1);
    memcpy(bytes, input->bytes, input->size);
    (void)LLVMFuzzerTestOneInput(bytes, input->size); /* libFuzzer wants 0 */
    free(bytes);
}

int main(int argc, char **argv)
{
    long inputs = argc > 1 ? strtol(argv[1], NULL, 10) : INPUTS_DEFAULT;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *slash = strrchr(argv[0], '/');
    const char *name = (slash ? slash + 1 : argv[0]) + strlen("fuzz_");
    const char *source = getenv("SWEETSPOT_TEST_SOURCE");
    char *folder = mem_format("%s/tests/fuzz/corpus/%s", source ? source : ".", name);
    log_set_level(LOG_LEVEL_ERROR);
    (void)signal(SIGPIPE, SIG_IGN);
    read_corpus(folder);
    if (seed_count == 0) {
        (void)fprintf(stderr, "no corpus in %s; run in the source folder\n", folder);
        return 1;
    }
    state = seed * 0x9E3779B97F4A7C15U | 1;
    for (size_t i = 0; i < seed_count; i++)
        feed(&seeds[i]);
    struct input *input = mem_alloc(1, sizeof *input);
    for (long i = 0; i < inputs; i++) {
        *input = seeds[draw(seed_count)];
        for (uint64_t changes = 1 + draw(CHANGES_MAX); changes > 0; changes--)
            change(input);
        feed(input);
    }
    (void)printf("%s: %zu seeds, %ld inputs made of them (seed %llu), 0 faults\n", name, seed_count,
                 inputs, (unsigned long long)seed);
    free(input);
    free(folder);
    return 0;
}
