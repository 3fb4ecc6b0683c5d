#include "baseserver/lead/bridge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "baseserver/lead/registry.h"
#include "etcd/etcd.h"
#include "sched/ects.h"
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
#define LATER_US    (2 * US_PER_S)

enum order_kind { ORDER_PUT, ORDER_GONE, ORDER_KILL };

/* A command on its way, or waiting for its turn. */
struct order {
	struct order *next;
	enum order_kind kind;
	char *name, *args, *request_id;
	char *is, *text; /* PUT: what its key says, its document */
	int64_t due_us;  /* of one that is asked again */
	int64_t mod_revision;
};

/* A job (a pipeline) of the store, of etcd, or of both. PREFIX/MARKS/NAME is its mark: the revision
 * of its key that was taken. It says later that a key which is gone was there, and that one which
 * is there was known. */
struct job {
	char *name, *problem; /* problem NULL: none */
	char *is, *text; /* its key's value, its document, as the store has them; NULL: no job */
	int64_t mod_revision;     /* of its key as last seen; 0: none */
	int64_t mark;             /* 0: none */
	char *written;            /* what we put there and have not seen there; NULL: nothing */
	bool is_there, is_listed; /* there: the store has it, as last answered */
	bool was_there;           /* it is retired */
	bool put, drop;           /* its key is to be written, or to go ... */
	bool put_mark;            /* ... and so is its mark */
	bool from_etcd;           /* its last version came from there */
};

struct bridge {
	const struct bridge_form *form;
	struct bridge_world world;
	struct commander *commander;
	struct actor *me;
	char *project;
	char *library; /* the document of ECTS's tasks; NULL: none */
	struct job *jobs;
	size_t n;
	struct order *first, **last, *done; /* done: kills whose keys are to go */
	struct order *later;                /* refused by what goes on now: asked again then */
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

/* Takes both. */
static void set_is(struct job *j, char *is, char *text)
{
	free(j->is);
	free(j->text);
	j->is = is;
	j->text = text;
}

/* What the key of a document says, the caller's; NULL: it is none of ours. */
static char *value_of(const struct bridge *b, const char *name, const char *text, size_t n)
{
	struct buf value;
	char *is = NULL;

	buf_init(&value);
	if (b->form->value(&b->world, name, text, n, &value))
		is = mem_str(buf_str(&value));
	buf_done(&value);
	return is;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void learn_library(struct bridge *b, const char *name, const char *text, size_t n)
{
	if (strcmp(name, ECTS_LIBRARY) != 0)
		return;
	free(b->library);
	b->world.library = b->library = text ? mem_strn(text, n) : NULL;
}

/* What is of the other kind, or of neither, is none of ours. */
static int each_workflow(void *ctx, const struct store_doc *d)
{
	struct bridge *b = ctx;
	size_t n = strlen(b->project);

	if (strncmp(d->name, b->project, n) != 0 || d->name[n] != '/' || !d->body)
		return 0;
	const char *name = d->name + n + 1;
	char *is = value_of(b, name, d->body, d->body_len);
	if (!d->retired)
		learn_library(b, name, d->body, d->body_len);
	if (!is)
		return 0;
	struct job *j = job_of(b, name);
	j->is_there = !d->retired;
	j->was_there = d->retired;
	j->from_etcd = strcmp(d->actor, "etcd") == 0;
	if (d->retired)
		free(is);
	else
		set_is(j, is, mem_strn(d->body, d->body_len));
	return 0;
}

int bridge_new(const struct bridge_form *form, const struct bridge_world *world,
               struct commander *commander, struct store *store, struct bridge **ret,
               struct err *err)
{
	struct bridge *b = mem_new(sizeof *b);

	b->form = form;
	b->commander = commander;
	b->world = *world;
	b->world.project = b->project = mem_str(world->project);
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
	free(o->is);
	free(o->text);
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
		free(b->jobs[i].written);
		set_is(&b->jobs[i], NULL, NULL);
	}
	free(b->jobs);
	orders_free(b->first);
	orders_free(b->done);
	orders_free(b->later);
	free(b->project);
	free(b->library);
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
	const char *const words[] = { b->form->word, b->form->gone, "killer" };
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

static int document_of(struct bridge *b, const struct job *j, const struct etcd_kv *kv,
                       struct buf *text, struct err *err)
{
	b->world.was = j->text;
	return b->form->document(&b->world, j->name, kv->value, kv->value_len, text, err);
}

static void apply(struct bridge *b, const char *cluster, struct job *j, const struct etcd_kv *kv)
{
	struct buf text, args;
	struct err err = { 0 };
	struct json_out out;

	buf_init(&text);
	if (document_of(b, j, kv, &text, &err) < 0) {
		problem(b, b->form->word, j, err.text);
		buf_done(&text);
		return;
	}
	char *is = value_of(b, j->name, buf_str(&text), text.len);
	/* What we have put there ourselves, or what was taken before its mark was written. */
	if (j->is_there && same(is, j->is)) {
		owe(b, &j->put_mark);
		free(is);
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
	if (b->form->has_steps && j->is_there)
		json_field_truth(&out, "retire", true); /* a step that is no longer in it */
	json_close_object(&out);
	json_out_end(&out);
	struct order *o = order_put(b, ORDER_PUT, cluster, j->name, kv->mod_revision, &args);
	o->is = is;
	o->text = mem_str(buf_str(&text));
	buf_done(&text);
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
	char *is = NULL;

	buf_init(&text);
	if (document_of(b, j, kv, &text, NULL) == 0)
		is = value_of(b, j->name, buf_str(&text), text.len);
	if (j->was_there && !j->is_there)
		owe(b, &j->drop);
	else if (j->is && !same(is, j->is))
		owe(b, &j->put);
	free(is);
	buf_done(&text);
}

/* Changes come in their order: what comes before our own is older. */
static bool is_seen(struct job *j, const struct etcd_kv *kv)
{
	if (!j->written)
		return true;
	if (kv->is_deleted || strlen(j->written) != kv->value_len ||
	    memcmp(j->written, kv->value, kv->value_len) != 0)
		return false;
	free(j->written);
	j->written = NULL;
	return true;
}

void bridge_job(struct bridge *b, const char *cluster, const char *name, const struct etcd_kv *kv)
{
	struct job *j = job_of(b, name);
	bool is_known = kv->mod_revision <= j->mark && (j->is_there || j->was_there);

	j->is_listed = !kv->is_deleted;
	if (kv->mod_revision <= j->mod_revision)
		return;
	j->mod_revision = kv->mod_revision;
	/* What was saved here and waits to be written, or was and is not seen yet, is the later
	 * one. */
	if (j->put || !is_seen(j, kv))
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

	if (strncmp(workflow, b->project, len) != 0 || workflow[len] != '/')
		return;
	const char *name = workflow + len + 1;
	char *is = text ? value_of(b, name, text, n) : NULL;
	learn_library(b, name, text, n);
	if (text && !is)
		return; /* a workflow, and no job */
	struct job *j = job_of(b, name);
	set_is(j, is, text ? mem_strn(text, n) : NULL);
	j->is_there = text != NULL;
	j->was_there = !text;
	j->put = j->drop = j->from_etcd = false;
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
		free(b->jobs[i].written);
		b->jobs[i].written = NULL;
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
		else if (!is_known && j->is)
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
		problem(b, o->kind == ORDER_KILL ? "killer" : b->form->word, j, r->text);
	else if (j->problem || o->kind != ORDER_KILL)
		well(b, j);
	/* A version that is refused leaves the one before it in force. */
	if (is_well && o->kind != ORDER_KILL && !j->put && !j->drop) {
		j->is_there = o->kind == ORDER_PUT;
		j->was_there = !j->is_there;
		j->from_etcd = true;
		set_is(j, o->is, o->text);
		o->is = o->text = NULL;
		/* What was seen of the key since is taken by an order of its own. */
		if (j->mod_revision == (j->is_there ? o->mod_revision : 0))
			owe(b, &j->put_mark);
	}
	if (is_well)
		log_info("etcd.taken", "what=%s name=%s revision=%" PRId64,
		         o->kind == ORDER_PUT    ? b->form->one
		         : o->kind == ORDER_KILL ? "kill"
		                                 : "retired",
		         o->name, o->mod_revision);
}

/* What is there may be in the way only now: a step that goes still runs. */
static bool is_early(struct bridge *b, const struct order *o, int code)
{
	return code == E_CONFLICT && o->kind == ORDER_PUT &&
	       job_of(b, o->name)->mod_revision == o->mod_revision;
}

static void ask_later(struct bridge *b, struct order *o)
{
	o->due_us = clock_mono_us(&clock_machine) + LATER_US;
	o->next = b->later;
	b->later = o;
}

/* Those whose key is as it was; of the others a later order knows. */
static void ask_again(struct bridge *b, int64_t now_us)
{
	for (struct order **at = &b->later, *o; (o = *at) != NULL;) {
		bool is_still = job_of(b, o->name)->mod_revision == o->mod_revision;
		if (is_still && o->due_us > now_us) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		o->next = NULL;
		if (is_still) {
			*b->last = o;
			b->last = &o->next;
		} else {
			order_free(o);
		}
	}
}

static void answered(struct bridge *b, struct letter *l)
{
	struct client_request *r = (struct client_request *)l;
	struct order *o = b->first;

	b->is_asked = false;
	if (r->code < 0 && err_retryable(r->code)) {
		b->again_us = clock_mono_us(&clock_machine) + PAUSE_US;
		client_request_free(r);
		return;
	}
	bool early = is_early(b, o, r->code);
	settle(b, o, r);
	client_request_free(r);
	b->first = o->next;
	if (!b->first)
		b->last = &b->first;
	if (early) {
		ask_later(b, o);
	} else if (o->kind == ORDER_KILL) {
		o->next = b->done;
		b->done = o;
	} else {
		order_free(o);
	}
	bridge_pump(b, clock_mono_us(&clock_machine));
}

static void answered_job(struct letter *l, void *self)
{
	answered(registry_bridge(self, BRIDGE_JOBS), l);
}

static void answered_pipeline(struct letter *l, void *self)
{
	answered(registry_bridge(self, BRIDGE_PIPELINES), l);
}

const struct bridge_form bridge_forms[BRIDGES] = {
	[BRIDGE_JOBS] = { .word = "jobs",
	                  .one = "job",
	                  .marks = "bridge",
	                  .gone = "gone",
	                  .document = bridge_job_document,
	                  .value = bridge_job_value,
	                  .answered = answered_job },
	[BRIDGE_PIPELINES] = { .word = "pipelines",
	                       .one = "pipeline",
	                       .marks = "bridged-pipelines",
	                       .gone = "gone-pipelines",
	                       .has_steps = true,
	                       .document = bridge_pipeline_document,
	                       .value = bridge_pipeline_value,
	                       .answered = answered_pipeline },
};

bool bridge_pump(struct bridge *b, int64_t now_us)
{
	static const char *const kinds[] = { "apply", "retire", "kill" };

	ask_again(b, now_us);
	struct order *o = b->first;

	if (!o || b->is_asked || now_us < b->again_us)
		return o != NULL;
	struct client_request *r = client_request_new(kinds[o->kind], o->args, strlen(o->args));
	r->reply_to = b->me;
	r->answered = b->form->answered;
	r->request_id = mem_str(o->request_id);
	r->actor = mem_str("etcd");
	b->is_asked = commander_command(b->commander, r) == 0;
	if (!b->is_asked) {
		b->again_us = now_us + PAUSE_US;
		client_request_free(r);
	}
	return true;
}

static int write_mark(const struct bridge *b, struct job *j, struct etcd *e, const char *prefix,
                      struct err *err)
{
	char *key = mem_fmt("%s/%s/%s", prefix, b->form->marks, j->name);
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
	char *key = mem_fmt("%s/%s/" BRIDGE_MARK, prefix, b->form->marks);
	int r = b->known ? 0 : etcd_put(e, key, b->project, 0, err);

	b->known = r == 0;
	free(key);
	return r;
}

/* What was saved here. Its mark follows when the watch shows the key. */
static int write_job(const struct bridge *b, struct job *j, struct etcd *e, const char *prefix,
                     struct err *err)
{
	char *key = mem_fmt("%s/%s/%s", prefix, b->form->word, j->name);
	int r = j->put ? etcd_put(e, key, j->is, 0, err) : etcd_delete(e, key, err);

	if (r == 0) {
		log_info("etcd.written", "what=%s name=%s", j->put ? b->form->one : "end", j->name);
		free(j->written);
		j->written = j->put ? mem_str(j->is) : NULL;
		j->put = j->drop = false;
	}
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
			r = write_job(b, j, e, prefix, err);
		if (r == 0 && j->put_mark)
			r = write_mark(b, j, e, prefix, err);
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
	size_t there = 0;

	for (size_t i = 0; i < b->n; i++)
		there += b->jobs[i].is_there && b->jobs[i].is;
	put_int(out, b->form->word, (int64_t)there);
}

void bridge_print_problems(const struct bridge *b, struct buf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < b->n && shown < PROBLEMS_SHOWN; i++) {
		if (!b->jobs[i].problem)
			continue;
		shown++;
		put_open(out, NULL, '{');
		put_text(out, "what", b->form->one);
		put_text(out, "name", b->jobs[i].name);
		put_text(out, "text", b->jobs[i].problem);
		put_close(out, '}');
	}
}

uint64_t bridge_changes(const struct bridge *b)
{
	return b->changes;
}
