#include "jobs/render.h"
#include "jobs/member.h"
#include "jobs/render_parts.h"
#include "server/mem.h"
#include "server/unseen.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define JOINER "\xE2\x81\xA0" /* U+2060: no width, no break; what it parts is no name or link */
#define ELLIPSIS "\xE2\x80\xA6"
#define JSON_BYTES (64 << 10) /* what those between us and a receiver must let through */

const char *const render_formats[] = {"slack", "teams", "discord", "google_chat", "json", NULL};

/* --- what each receiver would take for markup ----------------------------------------------- */

/* Slack escapes these three and nothing else; Mattermost and Rocket.Chat are sent the same. */
static const char *escape_slack(unsigned char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '`':
        return "'";
    default:
        return NULL;
    }
}

/* Discord takes Markdown in every text of an embed. */
static const char *escape_discord(unsigned char byte)
{
    static const char special[] = "\\*_~|[]<>#";
    static const char *const escaped[] = {"\\\\", "\\*", "\\_",          "\\~", "\\|",
                                          "\\[",  "\\]", ("\\<" JOINER), "\\>", "\\#"};
    const char *at = byte ? strchr(special, byte) : NULL;
    if (byte == '`')
        return "'";
    return at ? escaped[at - special] : NULL;
}

static const char *escape_nothing(unsigned char byte)
{
    (void)byte;
    return NULL;
}

static const char *escape_fence(unsigned char byte)
{
    return byte == '`' ? "'" : NULL;
}

/* Text runs of a card take no Markdown, and a mention needs an entity beside the text; but not even
 * a tag is let through. */
static const char *escape_teams(unsigned char byte)
{
    return byte == '<' ? "<" JOINER : NULL;
}

/* Paragraphs of a card take a little HTML, and entities. */
static const char *escape_google_chat(unsigned char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    default:
        return NULL;
    }
}

/* --- the receivers -------------------------------------------------------------------------- */

/* What each takes, which the parts of its row (title, lead, ten facts, statement) stay below in
 * sum. Slack: 50 blocks; a header of 150, a section of 3,000 characters, a text of 4,000. Teams:
 * about 28 KB for the whole message, by the reports of others less: 20 KB. Discord: a title of 256,
 * a description of 4,096, 25 fields of 1,024, 6,000 characters in all. Google Chat: 32,000 bytes
 * for the message. Characters are counted as UTF-16 units, which are never fewer. */
/* clang-format off */
static const struct receiver receivers[] = {
    {"slack",       render_slack,       escape_slack,       escape_slack,       render_width_utf16, true,  150,  440, 200, 600},
    {"teams",       render_teams,       escape_teams,       escape_nothing,     render_width_bytes, false, 400, 2000, 600, 2000},
    {"discord",     render_discord,     escape_discord,     escape_fence,       render_width_utf16, true,  256, 1000, 240, 1000},
    {"google_chat", render_google_chat, escape_google_chat, escape_google_chat, render_width_bytes, false, 400, 3000, 900, 3000},
};
/* clang-format on */

/* --- text ----------------------------------------------------------------------------------- */

size_t render_width_utf16(unsigned char byte)
{
    if ((byte & 0xC0) == 0x80)
        return 0;
    return byte >= 0xF0 ? 2 : 1;
}

size_t render_width_bytes(unsigned char byte)
{
    return byte == '"' || byte == '\\' ? 2 : 1; /* as JSON writes it */
}

/* True where a mark of no width belongs in front of this byte: behind an @ (whoever "@all" would
 * call), within "://", "www." and "](", which receivers turn into links on their own. */
static bool is_parted(const char *text, const char *at)
{
    size_t before = (size_t)(at - text);
    if (before == 0)
        return false;
    if (at[-1] == '@')
        return true;
    if (*at == '/' && at[-1] == ':')
        return at[1] == '/';
    if (*at == '(' && at[-1] == ']')
        return true;
    return *at == '.' && before >= 3 && strncasecmp(at - 3, "www", 3) == 0;
}

static size_t width_of(const struct receiver *receiver, const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += receiver->width((unsigned char)*text);
    return width;
}

/* The bytes of the character that begins here. */
static size_t length_of(const char *at)
{
    size_t length = 1;
    while (((unsigned char)at[length] & 0xC0) == 0x80)
        length++;
    return length;
}

/* One character as it is written; "" for what is not. */
static void write_character(struct buf *piece, const char *at, bool keeps_lines,
                            const char *escaped)
{
    bool unseen;
    unsigned char byte = (unsigned char)*at;
    buf_clear(piece);
    if (unseen_step(at, &unseen) > 1 && unseen) /* new lines and blanks are below */
        return;
    if (byte == '\n' || byte == '\t' || byte == '\r')
        buf_add_char(piece, byte == '\n' && keeps_lines ? '\n' : ' ');
    else if (escaped)
        buf_add(piece, escaped);
    else if (byte >= 0x20 && byte != 0x7F)
        buf_add_bytes(piece, at, length_of(at));
}

/* Room that must stay for the ellipsis is given up only by what ends the text. */
static void add_text(struct buf *out, const struct receiver *receiver, const char *text,
                     size_t most, bool quoted)
{
    struct buf piece = {0};
    size_t last_fit = out->length; /* where the ellipsis would still have room */
    size_t used = 0;
    size_t ellipsis = width_of(receiver, ELLIPSIS);
    bool seen = false;
    for (const char *at = text; *at; at += length_of(at)) {
        const char *escaped =
            (quoted ? receiver->escape_quoted : receiver->escape)((unsigned char)*at);
        write_character(&piece, at, quoted && receiver->statement_lines, escaped);
        bool blank = piece.length == 0 || strcmp(buf_text(&piece), " ") == 0;
        if (blank && !seen && !quoted)
            continue; /* nothing has come before it */
        const char *parted = !quoted && is_parted(text, at) ? JOINER : "";
        used += width_of(receiver, parted) + width_of(receiver, buf_text(&piece));
        if (used > most) {
            out->length = last_fit;
            out->data[last_fit] = '\0';
            buf_add(out, ELLIPSIS);
            seen = true;
            break;
        }
        buf_add(out, parted);
        buf_add(out, buf_text(&piece));
        if (used + ellipsis <= most)
            last_fit = out->length;
        seen |= !blank;
    }
    if (!seen) /* some receivers refuse a message for one empty text in it */
        buf_add(out, "?");
    buf_fini(&piece);
}

void render_text(struct buf *out, const struct receiver *receiver, const char *text, size_t most)
{
    add_text(out, receiver, text, most, false);
}

void render_statement(struct buf *out, const struct receiver *receiver, const char *text)
{
    add_text(out, receiver, text, receiver->statement, true);
}

void render_title(struct buf *out, const struct receiver *receiver, const struct chat *chat)
{
    buf_format(out, "%s%s", chat->simulated ? "SIMULATED: " : "", chat->verdict);
    if (!chat->instance)
        return;
    buf_add(out, ": ");
    render_text(out, receiver, chat->instance, receiver->title - out->length);
}

/* --- our own event -------------------------------------------------------------------------- */

/* Leaves a member out and says so. */
static void leave_out(cJSON *payload, const char *parent, const char *name)
{
    cJSON *data = cJSON_GetObjectItemCaseSensitive(payload, "data");
    cJSON *object = *parent ? cJSON_GetObjectItemCaseSensitive(data, parent) : data;
    cJSON *list = cJSON_GetObjectItemCaseSensitive(payload, "truncated");
    if (!cJSON_GetObjectItemCaseSensitive(object, name))
        return;
    if (!list)
        list = cJSON_AddArrayToObject(payload, "truncated");
    char *pointer = mem_format("/data/%s%s%s", parent, *parent ? "/" : "", name);
    cJSON_ReplaceItemInObjectCaseSensitive(object, name, cJSON_CreateNull());
    cJSON_AddItemToArray(list, json_text(pointer));
    free(pointer);
}

/* A Standard Webhooks body (type, timestamp, data) with its id; what makes it too long is left out,
 * the least needed first. */
static char *render_json(cJSON *payload, const char *delivery_id, const char *url)
{
    static const struct {
        const char *parent, *name;
    } spare[] = {
        {"job", "definition"},  {"", "warnings"},   {"", "left_behind"}, {"job", "labels"},
        {"", "effects"},        {"", "undecided"},  {"", "baseline"},    {"", "no_recommendation"},
        {"", "recommendation"}, {"job", "summary"}, {"job", "error"},    {"job", "requested_by"},
    };
    cJSON_AddStringToObject(payload, "id", delivery_id);
    cJSON *data = cJSON_GetObjectItemCaseSensitive(payload, "data");
    if (cJSON_IsObject(data) && url)
        cJSON_AddStringToObject(data, "url", url);
    char *body = json_print(payload);
    for (size_t i = 0; i < JSON_COUNT(spare) && strlen(body) > JSON_BYTES; i++) {
        leave_out(payload, spare[i].parent, spare[i].name);
        free(body);
        body = json_print(payload);
    }
    return body;
}

/* --- the table's loop ----------------------------------------------------------------------- */

int render_event(const char *format, const char *payload, const char *delivery_id,
                 const char *public_url, char **out_body, struct err *err)
{
    cJSON *tree = NULL;
    struct chat chat;
    char *body = NULL;
    if (member_parse_own(payload, &tree, err) < 0)
        return err_set(err, ERR_STORE, 0, "a stored event cannot be read");
    chat_read(tree, public_url, &chat);
    if (strcmp(format, "json") == 0)
        body = render_json(tree, delivery_id, chat.url);
    for (size_t i = 0; i < JSON_COUNT(receivers) && !body; i++)
        if (strcmp(receivers[i].format, format) == 0)
            body = receivers[i].shape(&receivers[i], &chat);
    chat_fini(&chat);
    cJSON_Delete(tree);
    if (!body)
        return err_set(err, ERR_INPUT, 0, "format %s is unknown", format);
    *out_body = body;
    return 0;
}
