/* `peers`: who may greet as what, by the documents that the commander keeps and the keys that
 * keys_file has; a name of either is listed once. `exposed`: which passwords one was given, also
 * one that is no peer any more. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/model/front.h"
#include "baseserver/model/grants.h"
#include "baseserver/model/peers.h"
#include "baseserver/model/turned.h"
#include "baseserver/query/query_impl.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

struct keyed {
	const char *name;
	enum peer_kind kind; /* as the file says */
};

struct keyring {
	struct keyed *items; /* in the order of names */
	size_t n;
};

static void keyring_add(void *ctx, const char *name, enum peer_kind kind)
{
	struct keyring *k = ctx;

	k->items = mem_grow(k->items, k->n + 1, sizeof *k->items);
	k->items[k->n++] = (struct keyed){ mem_str(name), kind };
}

static struct keyring keyring_of(const struct commander *c)
{
	const struct front *f = commander_front(c);
	struct keyring k = { 0 };

	if (f && f->each_key)
		f->each_key(f->keys, keyring_add, &k);
	return k;
}

static void keyring_done(struct keyring *k)
{
	for (size_t i = 0; i < k->n; i++)
		free((char *)k->items[i].name);
	free(k->items);
}

static const struct keyed *keyring_find(const struct keyring *k, const char *name)
{
	for (size_t i = 0; i < k->n; i++)
		if (strcmp(k->items[i].name, name) == 0)
			return &k->items[i];
	return NULL;
}

static void put_words(struct buf *out, const char *key, const struct jval *list)
{
	put_open(out, key, '[');
	JV_EACH(v, list)
		put_text(out, NULL, v->text);
	put_close(out, ']');
}

static void put_key(struct buf *out, const char *name, const uint8_t *key)
{
	char text[PAIR_TEXT] = "";

	if (key)
		pair_text(key, text);
	put_text(out, name, key ? text : NULL);
}

static void peers_print(struct query *q, const char *name, const struct peer *p,
                        const struct keyed *key)
{
	static const struct peer bare;
	struct buf *out = &q->out;
	enum peer_kind filed = key ? key->kind : PEER_NONE;
	enum peer_kind kind = p && p->kind ? p->kind : filed ? filed : peer_kind_usual(name);
	const char *by = p && p->kind ? "document" : filed ? "key" : kind ? "name" : "nobody";

	if (!p)
		p = &bare;
	bool over = p->expires_us && p->expires_us <= actor_wall_us(commander_actor(q->c));
	put_open(out, NULL, '{');
	put_text(out, "peer", name);
	put_text(out, "kind", kind ? peer_kind_name(kind) : NULL);
	put_text(out, "by", by);
	put_text(out, "state",
	         p->state == PEER_REVOKED   ? "revoked"
	         : p->state == PEER_INVITED ? "invited"
	         : p->state == PEER_PENDING ? "pending"
	         : over                     ? "expired"
	         : kind                     ? "active"
	                                    : "unassigned");
	put_bool(out, "key", key && !p->n_keys);
	put_key(out, "fingerprint", p->n_keys ? p->keys[0] : NULL);
	put_key(out, "waits", p->has_asked ? p->asked : NULL);
	put_time_us(out, "invited_until", p->root && p->invite[0] ? p->invite_until_us : 0);
	put_words(out, "groups", p->groups);
	put_words(out, "types", p->types);
	put_words(out, "projects", p->projects);
	put_text(out, "asserts",
	         kind == PEER_FACE ? asserts_word(grants_asserts(commander_docs(q->c, 0), name))
	                           : NULL);
	put_time_us(out, "expires", p->expires_us);
	put_close(out, '}');
}

static void turned_list(struct query *q)
{
	struct turned_row *rows = mem_array(TURNED_MAX, sizeof *rows);
	const struct front *f = commander_front(q->c);
	int n = turned_copy(f ? f->turned : NULL, rows);

	put_open(&q->out, "refused", '[');
	for (int i = 0; i < n; i++) {
		put_open(&q->out, NULL, '{');
		put_text(&q->out, "peer", rows[i].name[0] ? rows[i].name : NULL);
		put_text(&q->out, "address", rows[i].address);
		put_text(&q->out, "code", err_name(rows[i].code));
		put_text(&q->out, "why", rows[i].why);
		put_int(&q->out, "times", (int64_t)rows[i].times);
		put_time_us(&q->out, "first", rows[i].first_us);
		put_time_us(&q->out, "last", rows[i].last_us);
		put_close(&q->out, '}');
	}
	put_close(&q->out, ']');
	free(rows);
}

static void peers_list(struct query *q, const struct docs *docs, const struct keyring *keys)
{
	put_open(&q->out, NULL, '{');
	put_open(&q->out, "peers", '[');
	for (size_t i = 0; i < keys->n; i++)
		peers_print(q, keys->items[i].name, peers_find(docs, keys->items[i].name),
		            &keys->items[i]);
	for (size_t i = 0; i < docs->n; i++)
		if (!keyring_find(keys, docs->items[i].name))
			peers_print(q, docs->items[i].name, docs->items[i].means, NULL);
	put_close(&q->out, ']');
	turned_list(q);
	put_close(&q->out, '}');
}

int query__peers(struct query *q, const struct jval *args, struct refusal *f)
{
	static const char *const names[] = { "peer", NULL };
	const char *name = NULL;
	int r = arg_object(args, "args", names, f);

	if (r == 0)
		r = arg_text(args, "args", "peer", 63, &name, f);
	if (r < 0)
		return r;
	const struct docs *docs = commander_docs(q->c, DOC_PEER);
	struct keyring keys = keyring_of(q->c);
	const struct keyed *key = name ? keyring_find(&keys, name) : NULL;
	const struct peer *p = name ? peers_find(docs, name) : NULL;
	if (!name)
		peers_list(q, docs, &keys);
	else if (key || p)
		peers_print(q, name, p, key);
	else
		r = refuse(f, E_NOT_FOUND, "args.peer", "sirdar peer list",
		           "there is neither a key nor a document of '%s'", name);
	keyring_done(&keys);
	return r;
}

/* Names of these documents are PEER/SERVER. */
static bool exposed_list(struct query *q, const char *peer)
{
	const struct docs *docs = commander_docs(q->c, DOC_EXPOSED);
	size_t n = strlen(peer);
	bool any = false;

	put_open(&q->out, NULL, '{');
	put_text(&q->out, "peer", peer);
	put_open(&q->out, "secrets", '[');
	for (size_t i = 0; i < docs->n; i++) {
		const struct doc *d = &docs->items[i];
		if (strncmp(d->name, peer, n) != 0 || d->name[n] != '/')
			continue;
		any = true;
		put_open(&q->out, NULL, '{');
		put_text(&q->out, "server", d->name + n + 1);
		put_time_us(&q->out, "first", jv_int(doc_json(d), "first", 0));
		put_time_us(&q->out, "last", jv_int(doc_json(d), "last", 0));
		put_close(&q->out, '}');
	}
	put_close(&q->out, ']');
	put_close(&q->out, '}');
	return any;
}

int query__exposed(struct query *q, const struct jval *args, struct refusal *f)
{
	static const char *const names[] = { "peer", NULL };
	const char *name = "";
	int r = arg_object(args, "args", names, f);

	if (r == 0)
		r = arg_text(args, "args", "peer", 63, &name, f);
	if (r < 0)
		return r;
	struct keyring keys = keyring_of(q->c);
	bool is_known = keyring_find(&keys, name) ||
	                peers_find(commander_docs(q->c, DOC_PEER), name);
	keyring_done(&keys);
	if (!exposed_list(q, name) && !is_known)
		return refuse(f, E_NOT_FOUND, "args.peer", "sirdar peer list",
		              "there is neither a key nor a document of '%s'", name);
	return 0;
}

void query__unsaid(const struct commander *c, struct buf *out)
{
	const struct docs *docs = commander_docs(c, DOC_PEER);
	struct keyring keys = keyring_of(c);

	for (size_t i = 0; i < keys.n; i++) {
		const char *name = keys.items[i].name;
		if (!keys.items[i].kind && !peer_kind_usual(name) && !peers_find(docs, name))
			buf_printf(out, "%s%s", out->len ? ", " : "", name);
	}
	keyring_done(&keys);
}
