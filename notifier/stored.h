/* stored.h — channels, on-call lists and rules that are documents of the server.
 *
 * What is plain of them stands in the store; the secrets of a channel are asked of the server, and
 * are kept in memory only. A channel whose secrets have not come `lacks` them: letters wait for
 * them. Pointers stay until the next refresh. Thread: the main one.
 */
#ifndef NOTIFIER_STORED_H
#define NOTIFIER_STORED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "notifier/channels.h"

struct err;
struct given;
struct jval;
struct reader;
struct stored;
struct wake;

struct stored *stored_new(struct reader *reader);
void stored_free(struct stored *s); /* NULL is fine */
/* Read again if something changed. */
int stored_refresh(struct stored *s, struct err *err);
/* Ask the server for secrets that lack, or are kept outside and old. */
void stored_ask(struct stored *s, struct wake *w, int64_t now_us);
/* They came, or why not; owns `list`. */
void stored_take(struct stored *s, struct given *list, int64_t now_us);

size_t stored_count(const struct stored *s);
const struct channel *stored_at(const struct stored *s, size_t i); /* NULL after the last */
const struct jval *stored_json(const struct stored *s, const struct channel *c);

/* Who of a list is told at an instant: the i-th recipient; NULL after the last, or no such list. */
const char *stored_duty(const struct stored *s, const char *list, int64_t at, size_t i);
/* NULL: there is none of that name. The projects of a list, NULL: all, are in *ret_projects. */
bool stored_has_list(const struct stored *s, const char *list, const struct jval **ret_projects);

struct stored_rule {
	const char *name, *covers; /* covers "": everything */
	const struct jval *when, *to;
	int64_t after_us;
};
/* The i-th rule; NULL after the last. */
const struct stored_rule *stored_rule_at(const struct stored *s, size_t i);
bool stored_rule_is_of(const struct stored_rule *r, const char *task, const char *word);
/* Is somebody to be told of machines and the server? */
bool stored_watches(const struct stored *s);

#endif
