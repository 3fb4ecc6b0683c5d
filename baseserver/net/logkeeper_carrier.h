/* logkeeper_carrier.h — who goes to the home of logs: one order after the other, on a thread of its
 * own that waits for the network. The logkeeper has two: one carries segments there, one fetches
 * what is read.
 */
#ifndef BASESERVER_LOGKEEPER_CARRIER_H
#define BASESERVER_LOGKEEPER_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "home/home.h"
#include "logs/logs.h"
#include "rt/actor.h"
#include "util/buf.h"

struct carrier;
struct err;
struct secrets;

enum carry {
	CARRY_SHIP,  /* `ship`: both files, verified */
	CARRY_RANGE, /* `miss` into data */
	CARRY_LIST,  /* a page behind `after` into things; it says then where the next one begins */
	CARRY_REMOVE, /* both files of the segment `name` */
	CARRY_SWEEP,  /* what was begun before `before_us` */
	CARRY_COUNT
};

/* An order; the very letter comes back through `answered`, and is the receiver's to free. */
struct carry_order {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	void *ctx;                /* of who gave it */
	struct carry_order *next; /* the carrier's, until it is answered */
	enum carry what;
	struct logs_ship ship;
	struct logs_miss miss;
	char name[HOME_NAME_BYTES];
	char after[HOME_AFTER_BYTES];
	int64_t before_us;
	/* Answered. */
	int code;
	char text[300];
	struct buf data;
	struct home_thing *things;
	size_t n, cap, swept;
	bool has_more;
};
struct carry_order *carry_order_new(enum carry what);
void carry_order_free(struct carry_order *o);

struct carrier_settings {
	const char *name; /* of the actor; static */
	const char *url, *ca_file;
	const char *secret; /* FROM:PATH[#KEY] */
	int64_t timeout_ms;
	struct secrets *secrets;
};
/* Settings are borrowed. errors  E_INVALID; E_NOT_FOUND, E_ABI the module that asks */
int carrier_new(struct thread *th, const struct carrier_settings *set, struct carrier **ret,
                struct err *err);
void carrier_free(struct carrier *c); /* NULL is fine */
/* Questions under way end soon. Thread: any. NULL is fine. */
void carrier_stop(struct carrier *c);
/*   owns    on 0 the order is on its way; on error it is the caller's
 *   errors  E_BUSY, E_CLOSED
 *   thread  any */
int carrier_ask(struct carrier *c, struct carry_order *o);

#endif
