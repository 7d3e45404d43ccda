/* The messages of the chat services, each in the shape its service documents. */
#include "jobs/render_parts.h"
#include "server/mem.h"

#include <stdlib.h>

#define SIMULATED "SIMULATED SERVER."
#define OPEN_WORDS "Open in Sweetspot"

static cJSON *object_in(cJSON *array)
{
    cJSON *object = cJSON_CreateObject();
    cJSON_AddItemToArray(array, object);
    return object;
}

/* A member with text from outside. */
static void add_text(cJSON *object, const char *name, const struct receiver *receiver,
                     const char *text, size_t most)
{
    struct buf out = {0};
    render_text(&out, receiver, text, most);
    cJSON_AddStringToObject(object, name, buf_text(&out));
    buf_fini(&out);
}

static void add_title(cJSON *object, const char *name, const struct receiver *receiver,
                      const struct chat *chat)
{
    struct buf out = {0};
    render_title(&out, receiver, chat);
    cJSON_AddStringToObject(object, name, buf_text(&out));
    buf_fini(&out);
}

static void add_statement(cJSON *object, const char *name, const struct receiver *receiver,
                          const char *text)
{
    struct buf out = {0};
    render_statement(&out, receiver, text);
    cJSON_AddStringToObject(object, name, buf_text(&out));
    buf_fini(&out);
}

/* --- Slack, Mattermost, Rocket.Chat --------------------------------------------------------- */

static cJSON *slack_block(cJSON *blocks, const char *type, const char *text_type, const char *text)
{
    cJSON *block = object_in(blocks);
    cJSON_AddStringToObject(block, "type", type);
    cJSON *inner = cJSON_AddObjectToObject(block, "text");
    cJSON_AddStringToObject(inner, "type", text_type);
    cJSON_AddStringToObject(inner, "text", text);
    return inner;
}

static void slack_section(const struct receiver *receiver, const struct chat *chat, struct buf *out)
{
    buf_add(out, chat->simulated ? "*" SIMULATED "* " : "");
    render_text(out, receiver, chat->lead, receiver->lead);
    for (size_t i = 0; i < chat->fact_count; i++) {
        buf_format(out, "\n*%s:* ", chat->facts[i].name);
        render_text(out, receiver, chat->facts[i].value, receiver->fact);
    }
}

static void slack_statement(const struct receiver *receiver, const struct chat *chat,
                            struct buf *out)
{
    if (!chat->statement)
        return;
    buf_add(out, "```");
    render_statement(out, receiver, chat->statement);
    buf_add(out, "```");
}

char *render_slack(const struct receiver *receiver, const struct chat *chat)
{
    struct buf title = {0};
    struct buf section = {0};
    struct buf statement = {0};
    struct buf link = {0};
    struct buf fallback = {0};
    render_title(&title, receiver, chat);
    slack_section(receiver, chat, &section);
    slack_statement(receiver, chat, &statement);
    if (chat->url)
        buf_format(&link, "<%s|" OPEN_WORDS ">", chat->url);
    buf_format(&fallback, "%s\n%s%s%s%s%s", buf_text(&title), buf_text(&section),
               statement.length ? "\n" : "", buf_text(&statement), link.length ? "\n" : "",
               buf_text(&link));
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "text", buf_text(&fallback)); /* a notification; Mattermost */
    cJSON_AddBoolToObject(tree, "unfurl_links", false);
    cJSON_AddBoolToObject(tree, "unfurl_media", false);
    cJSON *blocks = cJSON_AddArrayToObject(tree, "blocks");
    slack_block(blocks, "header", "plain_text", buf_text(&title));
    cJSON *inner = slack_block(blocks, "section", "mrkdwn", buf_text(&section));
    cJSON_AddBoolToObject(inner, "verbatim", true); /* no links or names but those marked so */
    if (chat->statement)
        slack_block(blocks, "section", "mrkdwn", buf_text(&statement));
    if (chat->url)
        slack_block(blocks, "section", "mrkdwn", buf_text(&link));
    char *body = json_print(tree);
    cJSON_Delete(tree);
    buf_fini(&title);
    buf_fini(&section);
    buf_fini(&statement);
    buf_fini(&link);
    buf_fini(&fallback);
    return body;
}

/* --- Teams: an Adaptive Card for Workflows -------------------------------------------------- */

/* Runs of a RichTextBlock are shown as they are: no Markdown is read in them. */
static cJSON *teams_paragraph(cJSON *body)
{
    cJSON *paragraph = object_in(body);
    cJSON_AddStringToObject(paragraph, "type", "RichTextBlock");
    return cJSON_AddArrayToObject(paragraph, "inlines");
}

static cJSON *teams_run(cJSON *inlines)
{
    cJSON *run = object_in(inlines);
    cJSON_AddStringToObject(run, "type", "TextRun");
    return run;
}

static void teams_bold(cJSON *inlines, const char *format, const char *text)
{
    char *words = mem_format("%s%s", text, format);
    cJSON *run = teams_run(inlines);
    cJSON_AddStringToObject(run, "text", words);
    cJSON_AddStringToObject(run, "weight", "bolder");
    free(words);
}

static void teams_body(cJSON *body, const struct receiver *receiver, const struct chat *chat)
{
    static const char *const colors[] = {
        [CHAT_GOOD] = "good", [CHAT_OPEN] = "warning", [CHAT_BAD] = "attention"};
    cJSON *run = teams_run(teams_paragraph(body));
    add_title(run, "text", receiver, chat);
    cJSON_AddStringToObject(run, "size", "large");
    cJSON_AddStringToObject(run, "weight", "bolder");
    cJSON_AddStringToObject(run, "color", colors[chat->tone]);
    add_text(teams_run(teams_paragraph(body)), "text", receiver, chat->lead, receiver->lead);
    for (size_t i = 0; i < chat->fact_count; i++) {
        cJSON *inlines = teams_paragraph(body);
        teams_bold(inlines, ": ", chat->facts[i].name);
        add_text(teams_run(inlines), "text", receiver, chat->facts[i].value, receiver->fact);
    }
    if (!chat->statement)
        return;
    run = teams_run(teams_paragraph(body));
    add_statement(run, "text", receiver, chat->statement);
    cJSON_AddStringToObject(run, "fontType", "monospace");
}

char *render_teams(const struct receiver *receiver, const struct chat *chat)
{
    cJSON *tree = cJSON_CreateObject();
    cJSON_AddStringToObject(tree, "type", "message");
    cJSON *attachment = object_in(cJSON_AddArrayToObject(tree, "attachments"));
    cJSON_AddStringToObject(attachment, "contentType", "application/vnd.microsoft.card.adaptive");
    cJSON_AddNullToObject(attachment, "contentUrl");
    cJSON *card = cJSON_AddObjectToObject(attachment, "content");
    cJSON_AddStringToObject(card, "$schema", "http://adaptivecards.io/schemas/adaptive-card.json");
    cJSON_AddStringToObject(card, "type", "AdaptiveCard");
    cJSON_AddStringToObject(card, "version", "1.2"); /* what phones show, too */
    cJSON_AddStringToObject(cJSON_AddObjectToObject(card, "msteams"), "width", "full");
    teams_body(cJSON_AddArrayToObject(card, "body"), receiver, chat);
    if (chat->url) {
        cJSON *action = object_in(cJSON_AddArrayToObject(card, "actions"));
        cJSON_AddStringToObject(action, "type", "Action.OpenUrl");
        cJSON_AddStringToObject(action, "title", OPEN_WORDS);
        cJSON_AddStringToObject(action, "url", chat->url);
    }
    char *body = json_print(tree);
    cJSON_Delete(tree);
    return body;
}

/* --- Discord -------------------------------------------------------------------------------- */

static void discord_description(cJSON *embed, const struct receiver *receiver,
                                const struct chat *chat)
{
    struct buf out = {0};
    buf_add(&out, chat->simulated ? "**" SIMULATED "** " : "");
    render_text(&out, receiver, chat->lead, receiver->lead);
    if (chat->statement) {
        buf_add(&out, "\n```sql\n");
        render_statement(&out, receiver, chat->statement);
        buf_add(&out, "\n```");
    }
    cJSON_AddStringToObject(embed, "description", buf_text(&out));
    buf_fini(&out);
}

char *render_discord(const struct receiver *receiver, const struct chat *chat)
{
    static const int colors[] = {
        [CHAT_GOOD] = 0x2E7D32, [CHAT_OPEN] = 0xB26A00, [CHAT_BAD] = 0xC62828};
    cJSON *tree = cJSON_CreateObject();
    cJSON *embed = object_in(cJSON_AddArrayToObject(tree, "embeds"));
    add_title(embed, "title", receiver, chat);
    discord_description(embed, receiver, chat);
    if (chat->url)
        cJSON_AddStringToObject(embed, "url", chat->url);
    cJSON_AddNumberToObject(embed, "color", colors[chat->tone]);
    cJSON *fields = cJSON_AddArrayToObject(embed, "fields");
    for (size_t i = 0; i < chat->fact_count; i++) {
        cJSON *field = object_in(fields);
        cJSON_AddStringToObject(field, "name", chat->facts[i].name);
        add_text(field, "value", receiver, chat->facts[i].value, receiver->fact);
    }
    cJSON *mentions = cJSON_AddObjectToObject(tree, "allowed_mentions");
    cJSON_AddArrayToObject(mentions, "parse"); /* nobody is called, whatever the text says */
    char *body = json_print(tree);
    cJSON_Delete(tree);
    return body;
}

/* --- Google Chat ---------------------------------------------------------------------------- */

static cJSON *google_widget(cJSON *widgets, const char *kind)
{
    return cJSON_AddObjectToObject(object_in(widgets), kind);
}

static void google_widgets(cJSON *widgets, const struct receiver *receiver, const struct chat *chat)
{
    add_text(google_widget(widgets, "textParagraph"), "text", receiver, chat->lead, receiver->lead);
    for (size_t i = 0; i < chat->fact_count; i++) {
        cJSON *fact = google_widget(widgets, "decoratedText");
        cJSON_AddStringToObject(fact, "topLabel", chat->facts[i].name);
        add_text(fact, "text", receiver, chat->facts[i].value, receiver->fact);
        cJSON_AddBoolToObject(fact, "wrapText", true);
    }
    if (chat->statement)
        add_statement(google_widget(widgets, "textParagraph"), "text", receiver, chat->statement);
    if (!chat->url)
        return;
    cJSON *buttons = google_widget(widgets, "buttonList");
    cJSON *button = object_in(cJSON_AddArrayToObject(buttons, "buttons"));
    cJSON_AddStringToObject(button, "text", OPEN_WORDS);
    cJSON *on_click = cJSON_AddObjectToObject(button, "onClick");
    cJSON_AddStringToObject(cJSON_AddObjectToObject(on_click, "openLink"), "url", chat->url);
}

char *render_google_chat(const struct receiver *receiver, const struct chat *chat)
{
    cJSON *tree = cJSON_CreateObject();
    add_title(tree, "fallbackText", receiver, chat); /* a notification */
    cJSON *item = object_in(cJSON_AddArrayToObject(tree, "cardsV2"));
    cJSON_AddStringToObject(item, "cardId", "sweetspot");
    cJSON *card = cJSON_AddObjectToObject(item, "card");
    add_title(cJSON_AddObjectToObject(card, "header"), "title", receiver, chat);
    cJSON *section = object_in(cJSON_AddArrayToObject(card, "sections"));
    google_widgets(cJSON_AddArrayToObject(section, "widgets"), receiver, chat);
    char *body = json_print(tree);
    cJSON_Delete(tree);
    return body;
}
