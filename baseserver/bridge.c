#include "baseserver/bridge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/commander.h"
#include "baseserver/registry.h"
#include "etcd/etcd.h"
#include "sched/workflow.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json.h"
#include "util/json_put.h"
#include "util/log.h"

enum { PROBLEMS_SHOWN = 100 };
#define BRIDGE_MARK "." /* no job is called so */
#define PAUSE_US    (500 * US_PER_MS)

enum order_kind { ORDER_PUT, ORDER_GONE, ORDER_KILL };

/* A command on its way, or waiting for its turn. */
struct order {
	struct order *next;
	enum order_kind kind;
	char *name, *args, *request_id;
	struct bridge_job is; /* PUT */
	int64_t mod_revision;
};

/* A job of the store, of etcd, or of both. PREFIX/bridge/NAME in etcd is its mark: the revision of
 * its key that was taken. It says later that a key which is gone was there, and that one which is
 * there was known. */
struct job {
	char *name, *problem;     /* problem NULL: none */
	struct bridge_job is;     /* as the store has it; empty: not there, or no job */
	int64_t mod_revision;     /* of its key as last seen; 0: none */
	int64_t mark;             /* 0: none */
	bool is_there, is_listed; /* there: the store has it, as last answered */
	bool was_there;           /* it is retired */
	bool put, drop;           /* its key is to be written, or to go ... */
	bool put_mark;            /* ... and so is its mark */
	bool from_etcd;           /* its last version came from there */
};

struct bridge {
	struct commander *commander;
	struct actor *me;
	char *project;
	struct job *jobs;
	size_t n;
	struct order *first, **last, *done; /* done: kills whose keys are to go */
	bool is_asked;                      /* the first is with the commander */
	int64_t again_us;                   /* not before */
	uint64_t changes;
	bool owes;  /* some job has something to write */
	bool known; /* this etcd has seen us before: the mark of all, BRIDGE_MARK, is there */
};

/* ---- jobs we know ------------------------------------------------------------------------- */

static struct job *job_of(struct bridge *b, const char *name)
{
	for (size_t i = 0; i < b->n; i++)
		if (strcmp(b->jobs[i].name, name) == 0)
			return &b->jobs[i];
	b->jobs = mem_grow(b->jobs, b->n + 1, sizeof *b->jobs);
	b->jobs[b->n] = (struct job){ .name = mem_str(name) };
	return &b->jobs[b->n++];
}

static int each_workflow(void *ctx, const struct store_doc *d)
{
	struct bridge *b = ctx;
	size_t n = strlen(b->project);

	if (strncmp(d->name, b->project, n) != 0 || d->name[n] != '/')
		return 0;
	struct job *j = job_of(b, d->name + n + 1);
	j->is_there = !d->retired;
	j->was_there = d->retired;
	j->from_etcd = strcmp(d->actor, "etcd") == 0;
	if (!d->retired && d->body)
		bridge_job_of(j->name, d->body, d->body_len, &j->is);
	return 0;
}

int bridge_new(struct commander *commander, const char *project, struct store *store,
               struct bridge **ret, struct err *err)
{
	struct bridge *b = mem_new(sizeof *b);

	b->commander = commander;
	b->project = mem_str(project);
	b->last = &b->first;
	int r = store_load_docs(store, DOC_WORKFLOW, each_workflow, b, err);
	if (r < 0) {
		bridge_free(b);
		return r;
	}
	*ret = b;
	return 0;
}

static void order_free(struct order *o)
{
	free(o->name);
	free(o->args);
	free(o->request_id);
	bridge_job_done(&o->is);
	free(o);
}

static void orders_free(struct order *o)
{
	for (struct order *next; o; o = next) {
		next = o->next;
		order_free(o);
	}
}

void bridge_free(struct bridge *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n; i++) {
		free(b->jobs[i].name);
		free(b->jobs[i].problem);
		bridge_job_done(&b->jobs[i].is);
	}
	free(b->jobs);
	orders_free(b->first);
	orders_free(b->done);
	free(b->project);
	free(b);
}

void bridge_start(struct bridge *b, struct actor *me)
{
	b->me = me;
}

/* Said once: the same again at a restart's listing is a new process. */
static void problem(struct bridge *b, const char *what, struct job *j, const char *text)
{
	if (!j->problem || strcmp(j->problem, text) != 0)
		log_error("etcd.job", "key=%s/%s text=\"%s\"", what, j->name, text);
	free(j->problem);
	j->problem = mem_str(text);
	b->changes++;
}

static void well(struct bridge *b, struct job *j)
{
	free(j->problem);
	j->problem = NULL;
	b->changes++;
}

/* ---- orders ------------------------------------------------------------------------------- */

static struct order *order_put(struct bridge *b, enum order_kind kind, const char *cluster,
                               const char *name, int64_t revision, struct buf *args)
{
	static const char *const words[] = { "jobs", "gone", "killer" };
	struct order *o = mem_new(sizeof *o);

	o->kind = kind;
	o->name = mem_str(name);
	o->args = mem_strn((const char *)buf_at(args), args->len);
	o->mod_revision = revision;
	o->request_id = mem_fmt("etcd/%s/%s/%s@%" PRId64, cluster, words[kind], name, revision);
	*b->last = o;
	b->last = &o->next;
	buf_done(args);
	return o;
}

static void owe(struct bridge *b, bool *what)
{
	*what = b->owes = true;
}

static bool is_ordered(const struct bridge *b, const char *name)
{
	const struct order *o = b->first;

	while (o && (o->kind != ORDER_PUT || strcmp(o->name, name) != 0))
		o = o->next;
	return o != NULL;
}

static void apply(struct bridge *b, const char *cluster, struct job *j, const struct etcd_kv *kv)
{
	struct buf text, args;
	struct err err = { 0 };
	struct json_out out;
	struct bridge_job is = { 0 };

	buf_init(&text);
	if (bridge_document(b->project, j->name, kv->value, kv->value_len, &text, &err) < 0) {
		problem(b, "jobs", j, err.text);
		buf_done(&text);
		return;
	}
	bridge_job_of(j->name, buf_str(&text), text.len, &is);
	/* What we have put there ourselves, or what was taken before its mark was written. */
	if (j->is_there && bridge_job_same(&is, &j->is)) {
		owe(b, &j->put_mark);
		bridge_job_done(&is);
		buf_done(&text);
		return;
	}
	buf_init(&args);
	json_out_start(&out, &args);
	json_open_object(&out);
	json_add_key(&out, "documents");
	json_open_array(&out);
	json_open_object(&out);
	json_field_text(&out, "name", kv->key);
	json_field_text(&out, "text", buf_str(&text));
	json_close_object(&out);
	json_close_array(&out);
	json_close_object(&out);
	json_out_end(&out);
	buf_done(&text);
	order_put(b, ORDER_PUT, cluster, j->name, kv->mod_revision, &args)->is = is;
}

static void retire(struct bridge *b, const char *cluster, struct job *j, int64_t revision)
{
	struct buf args;

	if (j->problem)
		well(b, j);
	buf_init(&args);
	buf_printf(&args,
	           "{\"selection\":{\"workflow\":\"%s/%s\"},\"detach\":true,"
	           "\"running\":\"wait\"}",
	           b->project, j->name);
	order_put(b, ORDER_GONE, cluster, j->name, revision, &args);
}

/* A key that was taken already: the store may have gone on since, with nobody to write it. */
static void compare(struct bridge *b, struct job *j, const struct etcd_kv *kv)
{
	struct buf text;
	struct bridge_job is = { 0 };

	buf_init(&text);
	if (bridge_document(b->project, j->name, kv->value, kv->value_len, &text, NULL) == 0)
		bridge_job_of(j->name, buf_str(&text), text.len, &is);
	if (j->was_there && !j->is_there)
		owe(b, &j->drop);
	else if (j->is.command && !bridge_job_same(&is, &j->is))
		owe(b, &j->put);
	bridge_job_done(&is);
	buf_done(&text);
}

void bridge_job(struct bridge *b, const char *cluster, const char *name, const struct etcd_kv *kv)
{
	struct job *j = job_of(b, name);
	bool is_known = kv->mod_revision <= j->mark && (j->is_there || j->was_there);

	j->is_listed = !kv->is_deleted;
	if (kv->mod_revision <= j->mod_revision)
		return;
	j->mod_revision = kv->mod_revision;
	/* What was saved here and waits to be written is the later one. */
	if (j->put)
		return;
	if (kv->is_deleted) {
		owe(b, &j->put_mark);
		j->mod_revision = 0;
		if (j->is_there || is_ordered(b, name))
			retire(b, cluster, j, kv->mod_revision);
		else if (j->problem)
			well(b, j);
	} else if (is_known) {
		compare(b, j, kv);
	} else if (!j->drop) {
		apply(b, cluster, j, kv);
	}
}

void bridge_mark(struct bridge *b, const char *name, const struct etcd_kv *kv)
{
	if (strcmp(name, BRIDGE_MARK) == 0)
		b->known = !kv->is_deleted;
	else
		job_of(b, name)->mark = kv->is_deleted ? 0 : strtoll(kv->value, NULL, 10);
}

void bridge_saved(struct bridge *b, const char *workflow, const char *text, size_t n)
{
	size_t len = strlen(b->project);
	struct bridge_job is;

	if (strncmp(workflow, b->project, len) != 0 || workflow[len] != '/')
		return;
	struct job *j = job_of(b, workflow + len + 1);
	if (text && !bridge_job_of(j->name, text, n, &is))
		return; /* a workflow, and no job */
	bridge_job_done(&j->is);
	j->is_there = text != NULL;
	j->was_there = !text;
	j->put = j->drop = j->from_etcd = false;
	if (text)
		j->is = is;
	owe(b, text ? &j->put : &j->drop);
}

void bridge_kill(struct bridge *b, const char *cluster, const char *name, const struct etcd_kv *kv)
{
	struct buf args;

	if (kv->is_deleted)
		return;
	if (strlen(name) > BRIDGE_JOB_BYTES_MAX || !name_ok(name)) {
		problem(b, "killer", job_of(b, name), "the name is no job's");
		return;
	}
	buf_init(&args);
	buf_printf(&args,
	           "{\"selection\":{\"tasks\":[\"%s/%s/%s\"],\"states\":[\"Running\"]},"
	           "\"message\":\"%s\"}",
	           b->project, name, name, "asked for in etcd");
	order_put(b, ORDER_KILL, cluster, name, kv->mod_revision, &args);
}

void bridge_begin(struct bridge *b)
{
	b->known = false;
	for (size_t i = 0; i < b->n; i++) {
		b->jobs[i].is_listed = false;
		/* Another cluster, or an old state of this one, counts anew. */
		b->jobs[i].mod_revision = b->jobs[i].mark = 0;
	}
}

/* A key that is not there was deleted if it has a mark. Without one it was never written, or etcd
 * was made anew and has forgotten all: then it gets what we have. */
void bridge_end(struct bridge *b, const char *cluster, int64_t revision)
{
	for (size_t i = 0; i < b->n; i++) {
		struct job *j = &b->jobs[i];
		bool is_known = j->mark || is_ordered(b, j->name) || (b->known && j->from_etcd);
		if (j->is_listed || j->put || j->drop)
			continue;
		if (j->mark)
			owe(b, &j->put_mark);
		if (is_known && (j->is_there || is_ordered(b, j->name)))
			retire(b, cluster, j, revision);
		else if (!is_known && j->is.command)
			owe(b, &j->put);
	}
	b->owes |= !b->known;
}

/* ---- answers ------------------------------------------------------------------------------ */

static void settle(struct bridge *b, struct order *o, const struct client_request *r)
{
	struct job *j = job_of(b, o->name);
	/* Nothing runs, or nobody knows it any more: so it shall be. */
	bool is_well = r->code == 0 || (o->kind != ORDER_PUT && r->code == E_NOT_FOUND);

	if (!is_well)
		problem(b, o->kind == ORDER_KILL ? "killer" : "jobs", j, r->text);
	else if (j->problem || o->kind != ORDER_KILL)
		well(b, j);
	/* A version that is refused leaves the one before it in force. */
	if (is_well && o->kind != ORDER_KILL && !j->put && !j->drop) {
		j->is_there = o->kind == ORDER_PUT;
		j->was_there = !j->is_there;
		j->from_etcd = true;
		bridge_job_done(&j->is);
		j->is = o->is;
		o->is = (struct bridge_job){ 0 };
		/* What was seen of the key since is taken by an order of its own. */
		if (j->mod_revision == (j->is_there ? o->mod_revision : 0))
			owe(b, &j->put_mark);
	}
	if (is_well)
		log_info("etcd.taken", "what=%s name=%s revision=%" PRId64,
		         o->kind == ORDER_PUT    ? "job"
		         : o->kind == ORDER_KILL ? "kill"
		                                 : "retired",
		         o->name, o->mod_revision);
}

static void answered(struct letter *l, void *self)
{
	struct bridge *b = registry_bridge(self);
	struct client_request *r = (struct client_request *)l;
	struct order *o = b->first;

	b->is_asked = false;
	if (r->code < 0 && err_retryable(r->code)) {
		b->again_us = clock_mono_us(&clock_machine) + PAUSE_US;
		client_request_free(r);
		return;
	}
	settle(b, o, r);
	client_request_free(r);
	b->first = o->next;
	if (!b->first)
		b->last = &b->first;
	if (o->kind == ORDER_KILL) {
		o->next = b->done;
		b->done = o;
	} else {
		order_free(o);
	}
	bridge_pump(b, clock_mono_us(&clock_machine));
}

bool bridge_pump(struct bridge *b, int64_t now_us)
{
	static const char *const kinds[] = { "apply", "retire", "kill" };
	struct order *o = b->first;

	if (!o || b->is_asked || now_us < b->again_us)
		return o != NULL;
	struct client_request *r = client_request_new(kinds[o->kind], o->args, strlen(o->args));
	r->reply_to = b->me;
	r->answered = answered;
	r->request_id = mem_str(o->request_id);
	r->actor = mem_str("etcd");
	b->is_asked = commander_command(b->commander, r) == 0;
	if (!b->is_asked) {
		b->again_us = now_us + PAUSE_US;
		client_request_free(r);
	}
	return true;
}

static int write_mark(struct job *j, struct etcd *e, const char *prefix, struct err *err)
{
	char *key = mem_fmt("%s/bridge/%s", prefix, j->name);
	char *value = mem_fmt("%" PRId64, j->mod_revision);
	int r = j->mod_revision ? etcd_put(e, key, value, 0, err) : etcd_delete(e, key, err);

	if (r == 0)
		j->put_mark = false;
	free(value);
	free(key);
	return r;
}

static int write_known(struct bridge *b, struct etcd *e, const char *prefix, struct err *err)
{
	char *key = mem_fmt("%s/bridge/" BRIDGE_MARK, prefix);
	int r = b->known ? 0 : etcd_put(e, key, b->project, 0, err);

	b->known = r == 0;
	free(key);
	return r;
}

/* What was saved here. Its mark follows when the watch shows the key. */
static int write_job(struct job *j, struct etcd *e, const char *prefix, struct err *err)
{
	char *key = mem_fmt("%s/jobs/%s", prefix, j->name);
	struct buf value;
	int r;

	buf_init(&value);
	if (j->put)
		bridge_job_print(j->name, &j->is, &value);
	r = j->put ? etcd_put(e, key, buf_str(&value), 0, err) : etcd_delete(e, key, err);
	if (r == 0) {
		log_info("etcd.written", "what=%s name=%s", j->put ? "job" : "end", j->name);
		j->put = j->drop = false;
	}
	buf_done(&value);
	free(key);
	return r;
}

static int write_owed(struct bridge *b, struct etcd *e, const char *prefix, struct err *err)
{
	if (!b->owes)
		return 0;
	int r = write_known(b, e, prefix, err);
	for (size_t i = 0; r == 0 && i < b->n; i++) {
		struct job *j = &b->jobs[i];
		if (j->put || j->drop)
			r = write_job(j, e, prefix, err);
		if (r == 0 && j->put_mark)
			r = write_mark(j, e, prefix, err);
	}
	b->owes = r < 0;
	return r;
}

int bridge_sweep(struct bridge *b, struct etcd *e, const char *prefix, struct err *err)
{
	int r = write_owed(b, e, prefix, err);

	while (r == 0 && b->done) {
		struct order *o = b->done;
		char *key = mem_fmt("%s/killer/%s", prefix, o->name);
		r = etcd_delete_if(e, key, o->mod_revision, err);
		free(key);
		if (r == 0) {
			b->done = o->next;
			order_free(o);
		}
	}
	return r;
}

void bridge_print(const struct bridge *b, struct buf *out)
{
	size_t there = 0, shown = 0;

	for (size_t i = 0; i < b->n; i++)
		there += b->jobs[i].is_there;
	put_int(out, "jobs", (int64_t)there);
	put_open(out, "problems", '[');
	for (size_t i = 0; i < b->n && shown < PROBLEMS_SHOWN; i++) {
		if (!b->jobs[i].problem)
			continue;
		shown++;
		put_open(out, NULL, '{');
		put_text(out, "name", b->jobs[i].name);
		put_text(out, "text", b->jobs[i].problem);
		put_close(out, '}');
	}
	put_close(out, ']');
}

uint64_t bridge_changes(const struct bridge *b)
{
	return b->changes;
}
