#pragma once
/* A receiver of webhooks on the loopback: answers with the statuses it is told and keeps what
 * came. One thread; may be used from any. Failures fail the test. */
#include <stddef.h>

struct receiver;

struct delivery {
    char *head; /* request line and headers */
    char *body;
};

struct receiver *receiver_start(void);
/* Ends the thread and frees all. Accepts NULL. */
void receiver_stop(struct receiver *receiver);

int receiver_port(const struct receiver *receiver);

/* The next `times` requests are answered with this status, later ones with 200 again. */
void receiver_answer(struct receiver *receiver, int status, int times);

/* Waits (at most 20 s) for delivery number `index`, from 0; borrowed until receiver_stop. */
const struct delivery *receiver_wait(struct receiver *receiver, size_t index);

size_t receiver_count(struct receiver *receiver);

/* The value of a header into out, "" when it is not there. */
void delivery_header(const struct delivery *delivery, const char *name, char out[200]);
