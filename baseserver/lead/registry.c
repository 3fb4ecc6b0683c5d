/* The registry: etcd as the leader sees it, below one prefix.
 *
 * An actor with a thread of its own, for its calls wait. It lists all keys once, then watches from
 * that revision; what a watch missed is listed again. Nodes are documents of the store (DOC_NODE),
 * a version each change, so that they outlive etcd; bridges get the keys of jobs, pipelines, marks
 * and kills, and the store's changes in their order. Each alarm is one step: pump the bridges,
 * watch or list, write what is owed, save nodes that were not, tell the commander if something
 * changed. It elects nobody: that is the election's (cluster.c). */
#include "baseserver/lead/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "baseserver/lead/bridge.h"
#include "baseserver/lead/cluster.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/ledger/letters.h"
#include "baseserver/model/docs.h"
#include "rt/actor.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"
#include "util/param.h"

enum { WAIT_MS = 200, BUSY_MS = 10, RETRY_MS = 1000, NODES_MAX = 100000, NODE_BYTES_MAX = 8192 };
#define SWEEP_US (3600 * US_PER_S)
#define ALIVE_US (5 * US_PER_S) /* a watch is silent also when nobody is there any more */

/* The end of the record of one that is off the list. A text of a node has no bare quote. */
#define FORGOTTEN "\"forgotten\":true}"

struct node {
	uint32_t id, version;
	char *name;    /* the UUID */
	char *body;    /* as recorded; what is seen again says nothing new */
	int64_t at_us; /* of its last change */
	bool is_listed, is_unsaved;
	bool is_forgotten; /* its last record says so: not shown until it is there again */
};

struct registry {
	struct actor *me;
	struct registry_settings set;
	struct etcd *etcd;
	struct etcd_watch *watch;
	struct bridge *bridges[BRIDGES]; /* NULL: not asked for */
	char asked[128];                 /* the name of the node that was asked for last */
	struct node *nodes;
	size_t n;
	uint32_t last_id;
	int64_t revision; /* to watch from; 0: list first */
	bool is_anew;     /* what was seen before says nothing of this etcd */
	bool is_cut;      /* the watch ended: what happened since was not seen */
	int64_t alive_us; /* when etcd was last asked */
	int64_t sweep_us; /* when nodes are forgotten next that are gone for long */
	int code;         /* of the last step; 1: none yet */
	char trouble[400];
	uint64_t changes, shown;
};

/* ---- nodes -------------------------------------------------------------------------------- */

static struct node *node_of(struct registry *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->nodes[i].name, name) == 0)
			return &r->nodes[i];
	return NULL;
}

static struct node *node_add(struct registry *r, uint32_t id, const char *name)
{
	r->nodes = mem_grow(r->nodes, r->n + 1, sizeof *r->nodes);
	r->nodes[r->n] = (struct node){ .id = id, .name = mem_str(name), .body = mem_str("") };
	if (id > r->last_id)
		r->last_id = id;
	return &r->nodes[r->n++];
}

static int each_doc(void *ctx, const struct store_doc *d)
{
	struct node *n = node_add(ctx, d->id, d->name);

	n->version = d->version;
	free(n->body);
	n->body = mem_strn(d->body ? d->body : "", d->body ? d->body_len : 0);
	n->at_us = d->at_us;
	n->is_forgotten = strstr(n->body, FORGOTTEN) != NULL;
	return 0;
}

/* Only what the registry's form has, each field a text but the port. */
static void body_print(const struct jval *root, const char *status, struct buf *out)
{
	static const char *const texts[] = { "id", "name", "host", "mode" };
	static const char *const more[] = { "version", "description" };
	const char *said = jv_text(root, "status");

	put_open(out, NULL, '{');
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		put_text(out, texts[i], jv_str(root, texts[i]));
	put_int(out, "port", jv_int(root, "port", 0));
	put_text(out, "status", status ? status : said ? said : "online");
	for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
		put_text(out, more[i], jv_str(root, more[i]));
	put_close(out, '}');
}

static void node_save(struct registry *r, struct node *n)
{
	struct edit *e = mem_new(sizeof *e);

	docs_add(e, &(struct store_doc){ .kind = DOC_NODE,
	                                 .id = n->id,
	                                 .version = n->version,
	                                 .name = n->name,
	                                 .body = n->body,
	                                 .body_len = strlen(n->body),
	                                 .actor = "etcd",
	                                 .at_us = actor_wall_us(r->me) });
	n->is_unsaved = ledger_edit(r->set.ledger, e) < 0;
	if (n->is_unsaved)
		edit_free(e);
}

static void node_next(struct registry *r, struct node *n)
{
	n->version++;
	n->at_us = actor_wall_us(r->me);
	node_save(r, n);
	r->changes++;
}

static const char *status_of(const struct jval *root)
{
	const char *s = jv_text(root, "status");

	return s ? s : "online";
}

/* Recorded and said, when it is new. `status` NULL: what the node says itself. */
static void node_change(struct registry *r, struct node *n, const struct jval *root,
                        const char *status)
{
	struct buf body;

	buf_init(&body);
	body_print(root, status, &body);
	if (strcmp(buf_str(&body), n->body) != 0) {
		free(n->body);
		n->body = mem_str(buf_str(&body));
		n->is_forgotten = false;
		node_next(r, n);
		log_info("node.changed", "id=%s mode=%s name=\"%s\" status=%s", n->name,
		         jv_text(root, "mode") ? jv_text(root, "mode") : "?",
		         jv_text(root, "name") ? jv_text(root, "name") : "?",
		         status ? status : status_of(root));
	}
	buf_done(&body);
}

/* A record more, without which it would be back after the next start. */
static void node_forget(struct registry *r, struct node *n, const char *why)
{
	size_t len = strlen(n->body);

	if (len == 0 || n->body[len - 1] != '}')
		return;
	CHECK(!n->is_forgotten);
	char *body = mem_fmt("%.*s,%s", (int)(len - 1), n->body, FORGOTTEN);
	free(n->body);
	n->body = body;
	n->is_forgotten = true;
	node_next(r, n);
	log_info("node.forgotten", "id=%s text=\"%s\"", n->name, why);
}

/* Offline, of this name or with this id (NULL: any), unchanged since `before_us`. */
static void forget_gone(struct registry *r, const char *name, int64_t before_us, const char *why)
{
	for (size_t i = 0; i < r->n; i++) {
		struct node *n = &r->nodes[i];
		const struct jval *root = NULL;

		if (n->is_forgotten || n->at_us > before_us ||
		    jv_parse(n->body, strlen(n->body), &root, NULL) < 0)
			continue;
		bool is_it = !name || strcmp(n->name, name) == 0 ||
		             strcmp(jv_str(root, "name"), name) == 0;
		if (is_it && strcmp(status_of(root), "offline") == 0)
			node_forget(r, n, why);
		jv_free(root);
	}
}

static void node_gone(struct registry *r, struct node *n)
{
	const struct jval *was = NULL;

	if (jv_parse(n->body, strlen(n->body), &was, NULL) == 0 &&
	    strcmp(status_of(was), "offline") != 0)
		node_change(r, n, was, "offline");
	jv_free(was);
}

static bool name_is_plain(const char *name)
{
	size_t n = strspn(name,
	                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	return n > 0 && n <= 64 && name[n] == 0;
}

static void node_seen(struct registry *r, const char *name, const struct etcd_kv *kv)
{
	struct node *n = node_of(r, name);
	const struct jval *root = NULL;
	struct err err = { 0 };

	if (kv->is_deleted) {
		if (n)
			node_gone(r, n);
		return;
	}
	if (n)
		n->is_listed = true;
	if (kv->value_len > NODE_BYTES_MAX)
		err_set(&err, E_TOO_BIG, "%zu bytes, at most %d", kv->value_len, NODE_BYTES_MAX);
	else
		jv_parse(kv->value, kv->value_len, &root, &err);
	if (!jv_is(root, JV_OBJECT) || !name_is_plain(name) || r->n >= NODES_MAX) {
		log_error("etcd.node", "key=nodes/%.64s text=\"%s\"",
		          name_is_plain(name) ? name : "?",
		          err.text[0] ? err.text : "this is no node");
	} else {
		n = n ? n : node_add(r, r->last_id + 1, name);
		n->is_listed = true;
		node_change(r, n, root, NULL);
	}
	jv_free(root);
}

/* ---- what is seen ------------------------------------------------------------------------- */

/* The rest of a key below PREFIX/WORD/; NULL: it is elsewhere. */
static const char *below(const struct registry *r, const char *key, const char *word)
{
	size_t n = strlen(r->set.p->etcd_prefix), w = strlen(word);

	if (strncmp(key, r->set.p->etcd_prefix, n) != 0 || key[n] != '/')
		return NULL; /* an etcd that answers with other keys than were asked for */
	key += n + 1;
	return strncmp(key, word, w) == 0 && key[w] == '/' ? key + w + 1 : NULL;
}

static int on_key(void *ctx, const struct etcd_kv *kv)
{
	struct registry *r = ctx;
	const char *cluster = etcd_cluster(r->etcd), *name;

	if ((name = below(r, kv->key, "nodes")))
		node_seen(r, name, kv);
	else if (r->bridges[BRIDGE_JOBS] && (name = below(r, kv->key, "killer")))
		bridge_kill(r->bridges[BRIDGE_JOBS], cluster, name, kv);
	for (size_t i = 0; i < BRIDGES; i++) {
		if (!r->bridges[i])
			continue;
		if ((name = below(r, kv->key, bridge_forms[i].word)))
			bridge_job(r->bridges[i], cluster, name, kv);
		else if ((name = below(r, kv->key, bridge_forms[i].marks)))
			bridge_mark(r->bridges[i], name, kv);
	}
	return 0;
}

static int registry_list(struct registry *r, struct err *err)
{
	char *prefix = mem_fmt("%s/", r->set.p->etcd_prefix);
	int64_t revision = 0;
	int code;

	for (size_t i = 0; i < r->n; i++)
		r->nodes[i].is_listed = false;
	for (size_t i = 0; i < BRIDGES; i++)
		if (r->bridges[i])
			bridge_begin(r->bridges[i], r->is_anew);
	code = etcd_each(r->etcd, prefix, on_key, r, &revision, err);
	for (size_t i = 0; i < r->n && code == 0; i++)
		if (!r->nodes[i].is_listed)
			node_gone(r, &r->nodes[i]);
	for (size_t i = 0; i < BRIDGES; i++)
		if (code == 0 && r->bridges[i])
			bridge_end(r->bridges[i], etcd_cluster(r->etcd), revision);
	if (code == 0) {
		r->revision = revision + 1;
		r->is_anew = r->is_cut = false;
	}
	free(prefix);
	return code;
}

static void watch_end(struct registry *r)
{
	if (r->watch)
		r->revision = etcd_watch_revision(r->watch);
	etcd_watch_end(r->watch);
	r->watch = NULL;
}

/* is_busy: what was ordered is answered before all is listed. */
static int registry_watch(struct registry *r, bool is_busy, struct err *err)
{
	int64_t revision = 0;
	int code = r->revision ? etcd_revision(r->etcd, &revision, err) : 0;

	/* Made anew, or restored: it would be silent until it has come as far again. */
	if (code == 0 && revision < r->revision - 1) {
		log_warn("etcd.older", "revision=%" PRId64 " seen=%" PRId64, revision,
		         r->revision - 1);
		r->revision = 0;
		r->is_anew = true;
	}
	if (code == 0 && r->is_cut)
		r->revision = 0;
	if (code == 0 && !r->revision && is_busy)
		return 0;
	if (code == 0 && !r->revision)
		code = registry_list(r, err);
	if (code < 0)
		return code;
	char *prefix = mem_fmt("%s/", r->set.p->etcd_prefix);
	code = etcd_watch(r->etcd, prefix, r->revision, &r->watch, err);
	free(prefix);
	return code;
}

/* By a call, which finds another endpoint if it must; the watch follows. */
static int look_alive(struct registry *r, struct err *err)
{
	struct etcd_answer a = { 0 };
	int64_t now = actor_mono_us(r->me);
	char *key;
	int code;

	if (now - r->alive_us < ALIVE_US)
		return 0;
	key = mem_fmt("%s/leader", r->set.p->etcd_prefix);
	code = etcd_get(r->etcd, key, &a, err);
	etcd_answer_done(&a);
	free(key);
	r->alive_us = now;
	return code == E_NOT_FOUND ? 0 : code;
}

static int registry_step(struct registry *r, bool is_busy, struct err *err)
{
	int code = r->watch ? 0 : registry_watch(r, is_busy, err);

	if (code == 0 && !r->watch)
		return 0;
	if (code == 0)
		code = etcd_watch_wait(r->watch, is_busy ? 0 : WAIT_MS, on_key, r, err);
	if (code == 0)
		code = look_alive(r, err);
	for (size_t i = 0; i < BRIDGES; i++)
		if (code == 0 && r->bridges[i])
			code = bridge_sweep(r->bridges[i], r->etcd, err);
	if (code < 0)
		watch_end(r);
	/* What happened meanwhile is not known: list. An etcd of a backup that has come as far
	 * again would else be followed as if it had all that we have seen. */
	r->is_cut |= code < 0;
	return code;
}

/* ---- what is shown ------------------------------------------------------------------------ */

static bool has_bridge(const struct registry *r)
{
	return r->bridges[BRIDGE_JOBS] || r->bridges[BRIDGE_PIPELINES];
}

static void put_bridges(const struct registry *r, struct buf *out)
{
	for (size_t i = 0; i < BRIDGES; i++)
		if (r->bridges[i])
			bridge_print(r->bridges[i], out);
	put_open(out, "problems", '[');
	for (size_t i = 0; i < BRIDGES; i++)
		if (r->bridges[i])
			bridge_print_problems(r->bridges[i], out);
	put_close(out, ']');
}

static void registry_show(struct registry *r)
{
	uint64_t now = r->changes;
	struct buf out;

	for (size_t i = 0; i < BRIDGES; i++)
		now += r->bridges[i] ? bridge_changes(r->bridges[i]) : 0;

	CHECK(now >= r->shown); /* changes are counted, never taken back */
	if (now == r->shown)
		return;
	r->shown = now;
	log_debug("registry.nodes", "changes=%llu code=%d", (unsigned long long)now, r->code);
	buf_init(&out);
	put_open(&out, NULL, '{');
	put_bool(&out, "etcd", r->code == 0);
	put_text(&out, "endpoint", etcd_endpoint(r->etcd));
	put_text(&out, "error", r->code < 0 ? r->trouble : "");
	put_open(&out, "nodes", '[');
	for (size_t i = 0; i < r->n; i++)
		if (!r->nodes[i].is_forgotten)
			put_raw(&out, NULL, r->nodes[i].body);
	put_close(&out, ']');
	if (has_bridge(r))
		put_bridges(r, &out);
	put_close(&out, '}');
	commander_nodes(r->set.commander, mem_strn((const char *)buf_at(&out), out.len));
	buf_done(&out);
}

static void say(struct registry *r, int code, const struct err *err)
{
	if (code == r->code || code == E_CLOSED)
		return;
	if (code < 0)
		log_warn("etcd.away", "code=%s text=\"%s\"", err_name(code), err->text);
	else
		log_info("etcd.watched", "endpoint=%s nodes=%zu", etcd_endpoint(r->etcd), r->n);
	snprintf(r->trouble, sizeof r->trouble, "%s", err->text);
	r->code = code;
	r->changes++;
}

static void registry_keep(struct registry *r, int64_t now)
{
	int64_t keep_us = (int64_t)r->set.p->etcd_nodes_days * 86400 * US_PER_S;

	if (keep_us == 0 || now < r->sweep_us)
		return;
	forget_gone(r, NULL, actor_wall_us(r->me) - keep_us, "offline for etcd_nodes_days");
	r->sweep_us = now + SWEEP_US;
}

struct forgetting {
	struct letter letter;
	char *name;
};

static void forget_discard(struct letter *l)
{
	free(((struct forgetting *)l)->name);
	free(l);
}

static void on_forget(struct letter *l, void *self)
{
	CHECK(actor_here(((struct registry *)self)->me));
	forget_gone(self, ((struct forgetting *)l)->name, INT64_MAX, "by command");
	registry_show(self);
	forget_discard(l);
}

void registry_forget(struct registry *r, const char *name)
{
	struct forgetting *l = mem_new(sizeof *l);

	l->name = mem_str(name);
	l->letter = (struct letter){ .deliver = on_forget, .discard = forget_discard };
	if (actor_post(r->me, &l->letter) < 0)
		forget_discard(&l->letter);
}

struct saving {
	struct letter letter;
	struct saved_workflow saved; /* its texts are this one's */
};

static void saving_discard(struct letter *l)
{
	struct saved_workflow *w = &((struct saving *)l)->saved;

	free((char *)(uintptr_t)w->name);
	free((char *)(uintptr_t)w->text);
	free((char *)(uintptr_t)w->actor);
	free(l);
}

static void on_saved(struct letter *l, void *self)
{
	struct registry *r = self;

	CHECK(actor_here(r->me));
	for (size_t i = 0; i < BRIDGES; i++)
		if (r->bridges[i])
			bridge_saved(r->bridges[i], &((struct saving *)l)->saved);
	saving_discard(l);
}

void registry_saved(struct registry *r, const struct saved_workflow *w)
{
	size_t len = strlen(r->set.p->etcd_project);

	if (!has_bridge(r) || strncmp(w->name, r->set.p->etcd_project, len) != 0 ||
	    w->name[len] != '/')
		return;
	struct saving *s = mem_new(sizeof *s);
	s->saved = *w;
	s->saved.name = mem_str(w->name);
	s->saved.text = w->text ? mem_strn(w->text, w->n) : NULL;
	s->saved.actor = mem_str(w->actor);
	s->letter = (struct letter){ .deliver = on_saved, .discard = saving_discard };
	if (actor_post_credit(r->me, &s->letter) < 0)
		saving_discard(&s->letter);
}

static void on_alarm(void *self)
{
	struct registry *r = self;
	struct err err = { 0 };
	int64_t now = actor_mono_us(r->me);
	bool is_busy = false;

	for (size_t i = 0; i < BRIDGES; i++)
		is_busy |= r->bridges[i] && bridge_pump(r->bridges[i], now);
	int code = registry_step(r, is_busy, &err);

	/* To watch anew, or to list, is a step of its own; only what fails again is said. */
	if (code == E_STALE || (code == E_IO && r->code == 0))
		code = registry_step(r, is_busy, &err);
	for (size_t i = 0; i < r->n; i++)
		if (r->nodes[i].is_unsaved)
			node_save(r, &r->nodes[i]);
	registry_keep(r, now);
	say(r, code, &err);
	registry_show(r);
	actor_alarm(r->me, now + (code < 0 ? RETRY_MS : is_busy ? BUSY_MS : 0) * US_PER_MS);
}

static int registry_init(void *self, struct actor *me, struct err *err)
{
	struct registry *r = self;

	(void)err;
	r->me = me;
	for (size_t i = 0; i < BRIDGES; i++)
		if (r->bridges[i])
			bridge_start(r->bridges[i], me);
	actor_alarm(me, actor_mono_us(me));
	return 0;
}

static const struct actor_ops ops = {
	.name = "registry", .letters_max = 64, .init = registry_init, .alarm = on_alarm
};

static const char *node_name(void *ctx, const char *id)
{
	struct registry *r = ctx;
	const struct node *n = node_of(r, id);
	const struct jval *root = NULL;

	r->asked[0] = '\0';
	if (n && jv_parse(n->body, strlen(n->body), &root, NULL) == 0)
		snprintf(r->asked, sizeof r->asked, "%s", jv_str(root, "name"));
	jv_free(root);
	return r->asked[0] ? r->asked : NULL;
}

static int bridges_new(struct registry *r, struct store *store, struct err *err)
{
	const bool wanted[] = {
		[BRIDGE_JOBS] = r->set.p->etcd_jobs, [BRIDGE_PIPELINES] = r->set.p->etcd_pipelines
	};
	const struct bridge_world world = { .prefix = r->set.p->etcd_prefix,
		                            .project = r->set.p->etcd_project,
		                            .node = node_name,
		                            .ctx = r };
	int code = 0;

	for (size_t i = 0; i < BRIDGES && code == 0; i++)
		if (wanted[i])
			code = bridge_new(&bridge_forms[i], &world, r->set.commander, store,
			                  &r->bridges[i], err);
	return code;
}

int registry_new(struct thread *th, struct store *store, const struct registry_settings *set,
                 struct registry **ret, struct err *err)
{
	struct registry *r = mem_new(sizeof *r);
	struct etcd_settings etcd = cluster_settings(set->p);

	r->set = *set;
	r->code = 1;
	int code = etcd_open(&etcd, &r->etcd, err);
	if (code == 0)
		code = store_load_docs(store, DOC_NODE, each_doc, r, err);
	if (code == 0)
		code = bridges_new(r, store, err);
	if (code < 0) {
		registry_free(r);
		return code;
	}
	r->me = actor_new(th, &ops, r);
	*ret = r;
	return 0;
}

void registry_halt(struct registry *r)
{
	if (r)
		etcd_stop(r->etcd);
}

void registry_free(struct registry *r)
{
	if (!r)
		return;
	etcd_watch_end(r->watch);
	etcd_close(r->etcd);
	for (size_t i = 0; i < BRIDGES; i++)
		bridge_free(r->bridges[i]);
	for (size_t i = 0; i < r->n; i++) {
		free(r->nodes[i].name);
		free(r->nodes[i].body);
	}
	free(r->nodes);
	free(r);
}
