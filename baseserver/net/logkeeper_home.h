/* logkeeper_home.h — the logkeeper's side of the home of logs: what is to be carried there, what is
 * to be fetched, what is to go. All of it runs on the logkeeper's thread and waits for nothing.
 */
#ifndef BASESERVER_LOGKEEPER_HOME_H
#define BASESERVER_LOGKEEPER_HOME_H

#include <stdbool.h>
#include <stdint.h>

#include "baseserver/net/logkeeper.h"
#include "logs/logs.h"

struct keeper_home;

struct keeper_home_start {
	struct actor *me; /* the logkeeper's */
	struct logs *logs;
	const struct logkeeper_settings *set;
	void *ctx;
	/* What was missed is here, or (code < 0, with `text`) cannot be had now. */
	void (*fetched)(void *ctx, int code, const char *text);
	/* keeper_home_tend() is wanted again, at that time (mono) at the latest. */
	void (*tend_by)(void *ctx, int64_t at_us);
};

struct keeper_home *keeper_home_new(const struct keeper_home_start *s);
void keeper_home_free(struct keeper_home *h); /* NULL is fine */
/* Was something missed (logs_miss())? Then it is ordered, once. */
bool keeper_home_miss(struct keeper_home *h);
/* Retention, what waits, and the next order. */
void keeper_home_tend(struct keeper_home *h);
/* Thread: any. */
void keeper_home_figures(const struct keeper_home *h, struct log_home_figures *ret);

#endif
