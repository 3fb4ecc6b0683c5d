/* commander_guest.h — what the guests of the commander see of it, and what they may ask of it: the
 * queries, which run on its thread. All is borrowed, until the guest returns to its thread's loop.
 */
#ifndef BASESERVER_COMMANDER_GUEST_H
#define BASESERVER_COMMANDER_GUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "baseserver/model/command.h"
#include "baseserver/model/docs.h"
#include "sched/instance.h"

struct buf;
struct catalog;
struct client_request;
struct commander;
struct front;
struct lead_view;
struct ledger;
struct letter;
struct progress;
struct proposals;
struct query;
struct refusal;
struct worker;

/* What is durable of a command. */
struct shown {
	enum command_state state;
	int64_t total, done, failed, ended_us;
};

/* What clients get to see of a command, at work or over; borrowed from it. */
struct face {
	uint64_t id, number; /* number: of the stream; 0: nothing is durable yet */
	enum command_kind kind;
	const char *actor, *message, *error;
	const char *changes; /* or NULL */
	int64_t created_us;
	const struct shown *shown;
};

const struct catalog *commander_catalog(const struct commander *c);
const struct front *commander_front(const struct commander *c); /* NULL: none is there */
struct ledger *commander_ledger(const struct commander *c);
const struct progress *commander_progress_of(const struct commander *c);
/* Epoch 0: nobody watches the lease. */
const struct lead_view *commander_lead_seen(const struct commander *c);
/* commander_quota.c: limits, and people with commands at work, as members of the open object;
 * else the list of them is empty. */
/* Names of projects with more unfinished instances than project_unfinished_max, which bounds
 * commands and no plan; with commas, as many as a line holds. */
void commander_list_crowded(const struct commander *c, struct buf *out);
void commander_print_quotas(const struct commander *c, bool with_people, struct buf *out);
const struct docs *commander_docs(const struct commander *c, enum store_doc_kind kind);
const char *commander_timezone(const struct commander *c);
const char *commander_nodes_seen(const struct commander *c); /* JSON */
uint64_t commander_seen(
	const struct commander *c); /* the last number of the stream it has folded */
/* A command, at work or over; number 0: there is none. */
struct face commander_face(const struct commander *c, uint64_t id);
/* Whose session *ret_session is; NULL: no notifier is here. */
struct worker *commander_notifier_seen(const struct commander *c, uint32_t *ret_session);
uint64_t commander_next_ask(struct commander *c);
struct query **commander_parked(struct commander *c); /* the guests' own list */

void commander_fold(struct commander *c);
/* turn(), and unpark() of the guests, not later than that. */
void commander_alarm(struct commander *c, int64_t at_us);
/* A letter waits for room at the ledger: none may be sent. */
bool commander_stuck(const struct commander *c);
bool commander_send(struct commander *c, struct proposals *ps); /* false: stuck for now */
void commander_answered(struct letter *l, void *self);
void face_print(const struct face *f, struct buf *out);
void print_instance_name(const struct commander *c, struct inst_key key, struct buf *out);
void request_answer(struct client_request *r, int code, const char *text, struct buf *body,
                    uint64_t number);
void request_refuse(struct client_request *r, const struct refusal *f);

#endif
