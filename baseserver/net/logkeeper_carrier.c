/* Orders for the home of logs, one question to it a turn, so that the thread answers its watchdog
 * between them and an upload of hours is no stall.
 *
 * The secret is asked of the actor of secrets when the first order comes, and wiped when the last
 * one is answered. Nothing is tried twice here: who gave the order knows whether it still
 * matters. */
#include "baseserver/net/logkeeper_carrier.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "baseserver/secret/secrets.h"
#include "baseserver/secret/source.h"
#include "fetch/fetch.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/module.h"

enum { ORDERS_MAX = 64 };

struct carrier {
	struct actor *me;
	struct actor_ops ops;
	struct carrier_settings set;
	struct home *home;
	atomic_bool stop;
	struct carry_order *first, **tail;
	bool has_secret, is_asked;
	int file;            /* of the order under way: 0 the segment, 1 its index */
	struct home_put put; /* fd -1: none */
	char put_name[HOME_NAME_BYTES];
};

struct carry_order *carry_order_new(enum carry what)
{
	struct carry_order *o = mem_new(sizeof *o);

	o->what = what;
	buf_init(&o->data);
	return o;
}

void carry_order_free(struct carry_order *o)
{
	buf_done(&o->data);
	free(o->things);
	free(o);
}

static void order_discard(struct letter *l)
{
	carry_order_free((struct carry_order *)l);
}

static void order_answer(struct carrier *c, int code, const struct err *err)
{
	struct carry_order *o = c->first;

	c->first = o->next;
	if (!c->first)
		c->tail = &c->first;
	o->next = NULL;
	o->code = code;
	snprintf(o->text, sizeof o->text, "%.*s", (int)sizeof o->text - 1,
	         code < 0 ? err->text[0] ? err->text : err_text(code) : "");
	o->letter.deliver = o->answered;
	if (actor_post_credit(o->reply_to, &o->letter) < 0)
		carry_order_free(o);
	c->file = 0;
}

/* --- the kinds of orders: HOME_MORE, 0 or a failure --- */

static void put_end(struct carrier *c)
{
	if (c->put.fd < 0)
		return;
	home_put_done(c->home, &c->put);
	close(c->put.fd);
	c->put.fd = -1;
}

static int put_open(struct carrier *c, const struct logs_ship *s, struct err *err)
{
	const char *path = c->file ? s->idx_path : s->seg_path;

	snprintf(c->put_name, sizeof c->put_name, "%s.%s", s->name, c->file ? "idx" : "seg");
	c->put = (struct home_put){ .name = c->put_name,
		                    .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW),
		                    .bytes = c->file ? s->idx_bytes : s->seg_bytes };
	return c->put.fd < 0 ? err_set(err, E_NOT_FOUND, "%s is not here", c->put_name) : 0;
}

/* The index comes last: what has one is whole. */
static int carry_ship(struct carrier *c, struct carry_order *o, struct err *err)
{
	int r = c->put.fd < 0 ? put_open(c, &o->ship, err) : 0;

	if (r == 0)
		r = home_put_step(c->home, &c->put, err);
	if (r == HOME_MORE)
		return r;
	put_end(c);
	return r == 0 && c->file++ == 0 ? HOME_MORE : r;
}

static int carry_range(struct carrier *c, struct carry_order *o, struct err *err)
{
	char name[HOME_NAME_BYTES];

	snprintf(name, sizeof name, "%s.%s", o->miss.name, o->miss.is_index ? "idx" : "seg");
	return home_get(c->home, name, o->miss.from, o->miss.n, &o->data, err);
}

static void on_thing(void *ctx, const struct home_thing *t)
{
	struct carry_order *o = ctx;

	o->things = mem_room(o->things, &o->cap, o->n + 1, sizeof *o->things);
	o->things[o->n++] = *t;
}

static int carry_list(struct carrier *c, struct carry_order *o, struct err *err)
{
	return home_list(c->home, o->after, on_thing, o, &o->has_more, err);
}

/* The index goes first: what has none is nobody's any more. */
static int carry_remove(struct carrier *c, struct carry_order *o, struct err *err)
{
	char name[HOME_NAME_BYTES];

	snprintf(name, sizeof name, "%.40s.%s", o->name, c->file ? "seg" : "idx");
	int r = home_remove(c->home, name, err);
	return r == 0 && c->file++ == 0 ? HOME_MORE : r;
}

static int carry_sweep(struct carrier *c, struct carry_order *o, struct err *err)
{
	return home_sweep(c->home, o->before_us, &o->swept, err);
}

static int (*const carries[CARRY_COUNT])(struct carrier *, struct carry_order *, struct err *) = {
	[CARRY_SHIP] = carry_ship,     [CARRY_RANGE] = carry_range, [CARRY_LIST] = carry_list,
	[CARRY_REMOVE] = carry_remove, [CARRY_SWEEP] = carry_sweep,
};

/* --- the secret --- */

static void question_discard(struct letter *l)
{
	struct secret_question *q = (struct secret_question *)l;

	secret_question_done(q);
	free(q);
}

static void fail_all(struct carrier *c, int code, const char *text)
{
	struct err err = { .code = code };

	snprintf(err.text, sizeof err.text, "%.*s", (int)sizeof err.text - 1, text);
	put_end(c);
	while (c->first)
		order_answer(c, code, &err);
}

static void on_secret(struct letter *l, void *self)
{
	struct secret_question *q = (struct secret_question *)l;
	struct carrier *c = self;
	struct err err = { 0 };
	int r = q->code;

	c->is_asked = false;
	if (r == 0)
		r = home_secret_set(c->home, q->wishes[0].value, &err);
	c->has_secret = r == 0;
	if (r < 0)
		fail_all(c, r, q->code < 0 ? q->text : err.text);
	question_discard(l);
	actor_wake(c->me);
}

/* FROM:PATH[#KEY], as heap texts. */
static void secret_split(const char *secret, char **from, char **path, char **key)
{
	const char *at = strchr(secret, ':'), *hash = strchr(secret, '#');

	*from = mem_strn(secret, at ? (size_t)(at - secret) : 0);
	*path = at ? mem_strn(at + 1, strcspn(at + 1, "#")) : mem_str("");
	*key = mem_str(hash ? hash + 1 : "");
}

static void ask_secret(struct carrier *c)
{
	struct secret_question *q = mem_new(sizeof *q);

	q->letter.discard = question_discard;
	q->reply_to = c->me;
	q->answered = on_secret;
	q->discard = question_discard;
	q->n = 1;
	q->wishes = mem_new(sizeof *q->wishes);
	secret_split(c->set.secret, &q->wishes[0].from, &q->wishes[0].path, &q->wishes[0].key);
	q->wishes[0].what = mem_str("the secret of log_home");
	int r = secrets_ask(c->set.secrets, q);
	c->is_asked = r == 0;
	if (r < 0) {
		question_discard(&q->letter);
		fail_all(c, r, "secrets cannot be asked for now");
	}
}

/* --- the actor --- */

static void on_order(struct letter *l, void *self)
{
	struct carry_order *o = (struct carry_order *)l;
	struct carrier *c = self;

	o->next = NULL;
	*c->tail = o;
	c->tail = &o->next;
}

static void on_turn(void *self)
{
	struct carrier *c = self;
	struct err err = { 0 };

	if (!c->first) {
		if (c->has_secret)
			home_secret_wipe(c->home);
		c->has_secret = false;
		return;
	}
	if (!c->has_secret) {
		if (!c->is_asked)
			ask_secret(c);
		return;
	}
	int r = atomic_load(&c->stop) ? E_CLOSED : carries[c->first->what](c, c->first, &err);
	if (r != HOME_MORE) {
		put_end(c);
		order_answer(c, r, &err);
	}
	actor_wake(c->me);
}

int carrier_ask(struct carrier *c, struct carry_order *o)
{
	o->letter = (struct letter){ .deliver = on_order, .discard = order_discard };
	return actor_post(c->me, &o->letter);
}

static int secret_check(const struct carrier_settings *set, struct err *err)
{
	char *from, *path, *key;

	secret_split(set->secret, &from, &path, &key);
	const struct secret_ref ref = { from, path, key };
	int r = source_check(&ref, err);
	const char *lack = r == 0 ? secrets_lack(set->secrets, from) : NULL;
	if (lack)
		r = err_set(err, E_INVALID, "the setting %s is empty", lack);
	free(from);
	free(path);
	free(key);
	return r < 0 ? err_wrap(err, E_INVALID, "log_home_secret, FROM:PATH[#KEY]") : 0;
}

int carrier_new(struct thread *th, const struct carrier_settings *set, struct carrier **ret,
                struct err *err)
{
	const void *found = NULL;
	int r = secret_check(set, err);

	if (r == 0)
		r = module_load(FETCH_FILE, "the module for log_home", FETCH_SYMBOL, &found, err);
	if (r < 0)
		return r;
	const struct fetch_ops *fetch = found;
	if (fetch->abi != FETCH_ABI || fetch->ask_size != sizeof(struct fetch_ask))
		return err_set(err, E_ABI, FETCH_FILE " was built for another version of Sirdar");
	struct carrier *c = mem_new(sizeof *c);
	c->set = *set;
	c->tail = &c->first;
	c->put.fd = -1;
	const struct home_settings hset = { set->url, set->ca_file, set->timeout_ms, fetch,
		                            &c->stop };
	r = home_open(&hset, &c->home, err);
	if (r < 0) {
		free(c);
		return err_wrap(err, r, "log_home");
	}
	c->ops = (struct actor_ops){ .name = set->name,
		                     .letters_max = ORDERS_MAX,
		                     .turn = on_turn };
	c->me = actor_new(th, &c->ops, c);
	*ret = c;
	return 0;
}

void carrier_stop(struct carrier *c)
{
	if (c)
		atomic_store(&c->stop, true);
}

void carrier_free(struct carrier *c)
{
	if (!c)
		return;
	for (struct carry_order *o = c->first, *next; o; o = next) {
		next = o->next;
		carry_order_free(o);
	}
	atomic_store(&c->stop, true);
	put_end(c);
	home_close(c->home);
	free(c);
}
