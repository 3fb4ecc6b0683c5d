/* A bridge: what stands in etcd under one word (jobs, pipelines) and workflows of the store, kept
 * equal.
 *
 * Each name is a job here: what the store has (is, text, actor, version), and what is known of its
 * key (base, seen, mark, news). A change of its key is judged: the two sides agree, or it becomes
 * an order, which is a command of the actor "etcd". A change here makes the job dirty, and
 * bridge_write.c writes it over `base`. Which of two changes is in force: baseserver/lead rule 9.
 * Two rules keep it right: a job has one order on its way, and what comes meanwhile is judged when
 * that is answered; and an order's request id is made of the key and its revision, so that one
 * change is one command whoever orders it. No call here waits for etcd. */
#include "baseserver/lead/bridge_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander.h"
#include "etcd/etcd.h"
#include "sched/ects.h"
#include "sched/workflow.h"
#include "store/store.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"
#include "util/log.h"

enum { TRIES_MAX = 5 };
#define ACTOR    "etcd" /* of the commands made here */
#define PAUSE_US (500 * US_PER_MS)
#define LATER_US (2 * US_PER_S)

/* ---- jobs we know ------------------------------------------------------------------------- */

static struct job *job_find(const struct bridge *b, const char *name)
{
	for (size_t i = 0; i < b->n; i++)
		if (strcmp(b->jobs[i].name, name) == 0)
			return &b->jobs[i];
	return NULL;
}

static struct job *job_of(struct bridge *b, const char *name)
{
	struct job *j = job_find(b, name);

	if (j)
		return j;
	b->jobs = mem_grow(b->jobs, b->n + 1, sizeof *b->jobs);
	b->jobs[b->n] = (struct job){ .name = mem_str(name),
		                      .actor = mem_str(""),
		                      .base = b->is_listed ? 0 : NOT_KNOWN };
	return &b->jobs[b->n++];
}

/* The id that a key's value says, the caller's; NULL: none. */
static char *id_of(const char *is)
{
	const struct jval *root = NULL;
	char *id = NULL;

	if (is && jv_parse(is, strlen(is), &root, NULL) == 0 && jv_text(root, "id"))
		id = mem_str(jv_text(root, "id"));
	jv_free(root);
	return id;
}

/* Takes both. */
static void set_is(struct job *j, char *is, char *text)
{
	free(j->is);
	free(j->text);
	free(j->id);
	j->is = is;
	j->text = text;
	j->id = id_of(is);
}

/* Another that has the id of this value; NULL: nobody. */
static const struct job *id_taken(const struct bridge *b, const struct job *j, const char *is)
{
	const struct job *other = NULL;
	char *id = id_of(is);

	for (size_t i = 0; id && i < b->n && !other; i++)
		if (&b->jobs[i] != j && b->jobs[i].id && strcmp(b->jobs[i].id, id) == 0)
			other = &b->jobs[i];
	free(id);
	return other;
}

static void set_actor(struct job *j, const char *actor)
{
	free(j->actor);
	j->actor = mem_str(actor);
}

static bool is_etcds(const struct job *j)
{
	return strcmp(j->actor, ACTOR) == 0;
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

char *bridge__key(const struct bridge *b, const char *word, const char *name)
{
	return mem_fmt("%s/%s/%s", b->world.prefix, word, name);
}

static bool bridge_same(const char *a, const char *b)
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

	if (strncmp(d->name, b->project, n) != 0 || d->name[n] != '/' || !d->body ||
	    name_is_test(d->name))
		return 0;
	const char *name = d->name + n + 1;
	char *is = value_of(b, name, d->body, d->body_len);
	if (!d->retired)
		learn_library(b, name, d->body, d->body_len);
	if (!is)
		return 0;
	struct job *j = job_of(b, name);
	j->was_there = d->retired;
	j->version = d->version;
	set_actor(j, d->actor);
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

void bridge__order_free(struct order *o)
{
	free(o->name);
	free(o->args);
	free(o->request_id);
	free(o->is);
	free(o);
}

static void orders_free(struct order *o)
{
	for (struct order *next; o; o = next) {
		next = o->next;
		bridge__order_free(o);
	}
}

void bridge_free(struct bridge *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n; i++) {
		free(b->jobs[i].name);
		free(b->jobs[i].problem);
		free(b->jobs[i].lost);
		free(b->jobs[i].news);
		free(b->jobs[i].actor);
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

/* What is wrong with PREFIX/what/NAME. Said once: the same again at a restart's listing is a new
 * process. */
static void bridge_problem(struct bridge *b, const char *what, struct job *j, const char *text)
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

static struct order *order_put(struct bridge *b, enum order_kind kind, const char *name,
                               int64_t revision, struct buf *args)
{
	const char *const words[] = { b->form->word, b->form->gone, "killer" };
	struct order *o = mem_new(sizeof *o);

	CHECK((size_t)kind < sizeof words / sizeof words[0]);
	CHECK(kind == ORDER_KILL || !bridge__is_ordered(b, name));
	o->kind = kind;
	o->name = mem_str(name);
	o->args = mem_strn((const char *)buf_at(args), args->len);
	o->mod_revision = revision;
	o->request_id = mem_fmt("etcd/%s/%s/%s@%" PRId64, b->cluster, words[kind], name, revision);
	*b->last = o;
	b->last = &o->next;
	buf_done(args);
	return o;
}

static void owe(struct bridge *b, bool *what)
{
	*what = b->owes = true;
}

bool bridge__is_ordered(const struct bridge *b, const char *name)
{
	const struct order *o = b->first;

	while (o && (o->kind == ORDER_KILL || strcmp(o->name, name) != 0))
		o = o->next;
	return o != NULL;
}

/* Its base when it is done. */
static int64_t base_of(const struct order *o)
{
	CHECK(o->kind != ORDER_KILL); /* a kill changes no job */
	return o->kind == ORDER_PUT ? o->mod_revision : 0;
}

/* ---- which is in force -------------------------------------------------------------------- */

void bridge__agree(struct bridge *b, struct job *j, int64_t base)
{
	if (j->problem)
		well(b, j);
	if (j->lost && j->lost_base != base) {
		free(j->lost);
		j->lost = NULL;
		b->changes++;
	}
	j->base = base;
	j->agreed = j->version;
	j->is_dirty = false;
	if (j->mark != base || (j->mark_version && j->mark_version != j->agreed))
		owe(b, &j->put_mark);
}

/* A change of somebody here is not in force any more; its version stays in the history. */
static void bridge_lose(struct bridge *b, struct job *j, const struct order *o)
{
	if (is_etcds(j))
		return;
	log_warn("etcd.lost", "what=%s name=%s version=%" PRIu32 " by=%s revision=%" PRId64,
	         b->form->one, j->name, j->version, j->actor, o->mod_revision);
	free(j->lost);
	j->lost = mem_fmt("version %" PRIu32 ", saved by %.200s, is lost: at the same time the key "
	                  "was %s in etcd (revision %" PRId64 "), which is in force",
	                  j->version, j->actor, o->kind == ORDER_PUT ? "put" : "deleted",
	                  o->mod_revision);
	j->lost_base = base_of(o);
	b->changes++;
}

static int document_of(struct bridge *b, const struct job *j, struct buf *text, struct err *err)
{
	b->world.was = j->text;
	return b->form->document(&b->world, j->name, j->news, j->news_len, text, err);
}

static void bridge_apply(struct bridge *b, struct job *j, struct buf *text, char *is)
{
	struct buf args;
	char *key = bridge__key(b, b->form->word, j->name);

	buf_init(&args);
	put_open(&args, NULL, '{');
	put_open(&args, "documents", '[');
	put_open(&args, NULL, '{');
	put_text(&args, "name", key);
	put_text(&args, "text", buf_str(text));
	put_close(&args, '}');
	put_close(&args, ']');
	if (b->form->has_steps && j->is)
		put_bool(&args, "retire", true); /* a step that is no longer in it */
	put_close(&args, '}');
	order_put(b, ORDER_PUT, j->name, j->news_revision, &args)->is = is;
	free(key);
}

static void bridge_retire(struct bridge *b, struct job *j)
{
	struct buf args;

	CHECK(j->is);
	if (j->problem)
		well(b, j);
	buf_init(&args);
	buf_printf(&args,
	           "{\"selection\":{\"workflow\":\"%s/%s\"},\"detach\":true,"
	           "\"running\":\"wait\"}",
	           b->project, j->name);
	order_put(b, ORDER_GONE, j->name, j->news_revision, &args);
}

/* What the news makes of it: its document and its value, the caller's. errors  what is wrong */
static int read_news(struct bridge *b, struct job *j, struct buf *text, char **ret_is,
                     struct err *err)
{
	int r = document_of(b, j, text, err);

	if (r < 0)
		return r;
	char *is = value_of(b, j->name, buf_str(text), text->len);
	const struct job *other = id_taken(b, j, is);
	if (other) {
		free(is);
		return err_set(err, E_CONFLICT, "its id is that of '%s': each wants its own",
		               other->name);
	}
	*ret_is = is;
	return 0;
}

/* The store may have gone on since a key was taken, with nobody to write it. */
static void judge_value(struct bridge *b, struct job *j, bool was_taken)
{
	struct err err = { 0 };
	struct buf text;
	char *is = NULL;

	buf_init(&text);
	if (read_news(b, j, &text, &is, &err) < 0) {
		bridge_problem(b, b->form->word, j, err.text);
		j->base = j->news_revision;
		b->owes |= j->is_dirty;
		buf_done(&text);
		return;
	}
	if (bridge_same(is, j->is)) {
		bridge__agree(b, j, j->news_revision);
	} else if (was_taken) {
		j->base = j->news_revision;
		owe(b, &j->is_dirty);
	} else {
		bridge_apply(b, j, &text, is);
		is = NULL;
	}
	free(is);
	buf_done(&text);
}

/* What is to become of the key as it was last seen. One order of a job at a time: what comes
 * meanwhile is judged when it is answered. */
static void bridge_judge(struct bridge *b, struct job *j)
{
	if (!j->has_news || bridge__is_ordered(b, j->name))
		return;
	bool first = j->base == NOT_KNOWN;
	j->has_news = false;
	if (first && j->mark_version && j->version > j->mark_version)
		j->is_dirty = !is_etcds(j);
	if (j->news)
		judge_value(b, j, first && j->news_revision <= j->mark && (j->is || j->was_there));
	else if (j->is)
		bridge_retire(b, j);
	else
		bridge__agree(b, j, 0);
	free(j->news);
	j->news = NULL;
}

void bridge__take_news(struct bridge *b, struct job *j, const char *value, size_t n,
                       int64_t revision)
{
	free(j->news);
	j->news = value ? mem_strn(value, n) : NULL;
	j->news_len = value ? n : 0;
	j->news_revision = revision;
	j->has_news = true;
	if (revision > j->seen)
		j->seen = revision;
	bridge_judge(b, j);
}

static void set_cluster(struct bridge *b, const char *cluster)
{
	snprintf(b->cluster, sizeof b->cluster, "%s", cluster);
}

/* Changes come in their order: what is not newer than what we wrote or judged is older. */
void bridge_job(struct bridge *b, const char *cluster, const char *name, const struct etcd_kv *kv)
{
	struct job *j = job_of(b, name);

	set_cluster(b, cluster);
	j->is_listed = !kv->is_deleted;
	if (b->is_listing && j->base > 0 && kv->mod_revision < j->base) {
		/* An older state of etcd: what is here came after it. */
		j->base = j->seen = kv->mod_revision;
		owe(b, &j->is_dirty);
	} else if (kv->mod_revision > j->seen)
		bridge__take_news(b, j, kv->is_deleted ? NULL : kv->value, kv->value_len,
		                  kv->mod_revision);
}

void bridge_mark(struct bridge *b, const char *name, const struct etcd_kv *kv)
{
	char *end = NULL;

	if (strcmp(name, BRIDGE_MARK) == 0) {
		b->known = !kv->is_deleted;
		return;
	}
	struct job *j = job_of(b, name);
	j->mark = kv->is_deleted ? 0 : strtoll(kv->value, &end, 10);
	j->mark_version = kv->is_deleted ? 0 : (uint32_t)strtoul(end, NULL, 10);
}

/* The order whose change this may be. */
static struct order *order_out(const struct bridge *b, const char *name)
{
	struct order *o = b->is_asked ? b->first : NULL;

	return o && o->kind != ORDER_KILL && strcmp(o->name, name) == 0 ? o : NULL;
}

static void saved_by_etcd(struct bridge *b, struct job *j, bool is_change)
{
	struct order *o = order_out(b, j->name);

	if (o) {
		j->base = base_of(o);
		j->is_dirty = false;
	} else if (is_change) {
		/* Ordered by a server before this one: what etcd has by now is looked up. */
		j->base = NOT_KNOWN;
		owe(b, &j->is_dirty);
	}
}

void bridge_saved(struct bridge *b, const struct saved_workflow *w)
{
	size_t len = strlen(b->project);

	if (strncmp(w->name, b->project, len) != 0 || w->name[len] != '/')
		return;
	const char *name = w->name + len + 1;
	char *is = w->text ? value_of(b, name, w->text, w->n) : NULL;
	learn_library(b, name, w->text, w->n);
	if (!is && !job_find(b, name))
		return; /* a workflow, and no job */
	struct job *j = job_of(b, name);
	bool is_change = !bridge_same(is, j->is), by_etcd = strcmp(w->actor, ACTOR) == 0;
	b->changes += is_change;
	if (by_etcd && j->is_dirty && order_out(b, name))
		bridge_lose(b, j, order_out(b, name));
	set_is(j, is, is ? mem_strn(w->text, w->n) : NULL);
	set_actor(j, w->actor);
	j->version = w->version ? w->version : j->version;
	j->was_there = !w->text;
	if (by_etcd)
		saved_by_etcd(b, j, is_change);
	else if (is_change)
		owe(b, &j->is_dirty);
}

void bridge_kill(struct bridge *b, const char *cluster, const char *name, const struct etcd_kv *kv)
{
	struct buf args;

	if (kv->is_deleted)
		return;
	if (strlen(name) > BRIDGE_JOB_BYTES_MAX || !name_ok(name)) {
		bridge_problem(b, "killer", job_of(b, name), "the name is no job's");
		return;
	}
	set_cluster(b, cluster);
	buf_init(&args);
	buf_printf(&args,
	           "{\"selection\":{\"tasks\":[\"%s/%s/%s\"],\"states\":[\"Running\"]},"
	           "\"message\":\"%s\"}",
	           b->project, name, name, "asked for in etcd");
	order_put(b, ORDER_KILL, name, kv->mod_revision, &args);
}

void bridge_begin(struct bridge *b, bool is_anew)
{
	b->known = false;
	b->is_listing = true;
	for (size_t i = 0; i < b->n; i++) {
		struct job *j = &b->jobs[i];
		j->is_listed = false;
		j->mark = 0;
		j->mark_version = 0;
		/* Another cluster, or an old state of this one, counts anew. */
		if (is_anew) {
			j->base = NOT_KNOWN;
			j->seen = 0;
		}
	}
}

/* A key that is not there was deleted if it has a mark, or if its mark is still to be written.
 * Without one it was never written, or this etcd is an older one, of a backup, or made anew: it has
 * forgotten key and mark, and gets what we have. */
static void not_listed(struct bridge *b, struct job *j, int64_t revision)
{
	bool was_there = j->mark || (j->base > 0 && j->put_mark);

	if (was_there) {
		bridge__take_news(b, j, NULL, 0, revision);
	} else if (j->base == NOT_KNOWN || j->base > 0) {
		j->base = 0;
		if (j->is)
			owe(b, &j->is_dirty);
	}
}

void bridge_end(struct bridge *b, const char *cluster, int64_t revision)
{
	set_cluster(b, cluster);
	b->is_listing = false;
	b->is_listed = true;
	for (size_t i = 0; i < b->n; i++)
		if (!b->jobs[i].is_listed)
			not_listed(b, &b->jobs[i], revision);
	b->owes |= !b->known;
}

/* ---- answers ------------------------------------------------------------------------------ */

/* What became of an order: a code, and words in *why. *ret_failed: the server accepted the command,
 * and the command failed later (the server ended, or its store failed). A conflict over the request
 * id counts as success: an earlier try took the order, and the document has changed since. */
static int outcome_of(const struct client_request *r, bool *ret_failed, struct err *why)
{
	const struct jval *root = NULL;

	*ret_failed = false;
	err_set(why, r->code, "%s", r->text);
	if (!r->body || jv_parse(r->body, r->body_len, &root, NULL) < 0)
		return r->code;
	const char *state = jv_text(root, "state"), *text = jv_text(root, "error");
	const char *place = jv_text(root, "place");
	*ret_failed = r->code == 0 && state && strcmp(state, command_state_name(CS_FAILED)) == 0;
	if (*ret_failed)
		err_set(why, E_CONFLICT, "%.300s", text ? text : "");
	else if (r->code == E_CONFLICT && place && strcmp(place, "request_id") == 0)
		why->code = 0;
	jv_free(root);
	return why->code;
}

static void taken(struct bridge *b, struct job *j, const struct order *o)
{
	/* Its plan ended before this server began, the last of it runs. */
	if (o->kind == ORDER_GONE && is_etcds(j)) {
		set_is(j, NULL, NULL);
		b->changes++;
	}
	if (bridge_same(j->is, o->is)) {
		bridge__agree(b, j, base_of(o));
	} else { /* saved here since */
		j->base = base_of(o);
		owe(b, &j->is_dirty);
	}
	log_info("etcd.taken", "what=%s name=%s revision=%" PRId64,
	         o->kind == ORDER_PUT ? b->form->one : "retired", o->name, o->mod_revision);
}

static void bridge_settle(struct bridge *b, struct order *o, int code, const char *text)
{
	struct job *j = job_of(b, o->name);
	/* Nothing runs, or nobody knows it any more: so it shall be. */
	bool is_well = code == 0 || (o->kind != ORDER_PUT && code == E_NOT_FOUND);

	if (o->kind == ORDER_KILL && is_well) {
		if (j->problem)
			well(b, j);
		log_info("etcd.taken", "what=kill name=%s revision=%" PRId64, o->name,
		         o->mod_revision);
	} else if (is_well) {
		taken(b, j, o);
	} else {
		bridge_problem(b, o->kind == ORDER_KILL ? "killer" : b->form->word, j, text);
	}
	/* A version that is refused leaves the one before it in force; one that was saved here is
	 * written over it. */
	if (!is_well && o->kind != ORDER_KILL)
		j->base = base_of(o);
	b->owes = true;
}

/* What is there may be in the way only now: a step that goes still runs. What failed once is asked
 * with another request id, some times. */
static bool is_early(struct order *o, int code, bool failed)
{
	if (!failed)
		return code == E_CONFLICT && o->kind == ORDER_PUT;
	CHECK(o->tries <= TRIES_MAX);
	if (o->tries == TRIES_MAX)
		return false;
	char *plain = mem_strn(o->request_id, strcspn(o->request_id, "#"));
	free(o->request_id);
	o->request_id = mem_fmt("%s#%d", plain, ++o->tries);
	free(plain);
	return true;
}

/* Nothing is newer than what it asks for. */
static bool is_still(struct bridge *b, const struct order *o)
{
	const struct job *j = job_of(b, o->name);

	return j->seen == o->mod_revision && !j->is_dirty;
}

static void ask_later(struct bridge *b, struct order *o)
{
	CHECK(!o->next || o->next == b->first); /* it is out of the line already */
	o->due_us = clock_mono_us(&clock_machine) + LATER_US;
	o->next = b->later;
	b->later = o;
}

/* Those whose key is as it was; of the others a later order knows. */
static void ask_again(struct bridge *b, int64_t now_us)
{
	for (struct order **at = &b->later, *o; (o = *at);) {
		bool still = is_still(b, o);
		if (still && o->due_us > now_us) {
			at = &o->next;
			continue;
		}
		*at = o->next;
		o->next = NULL;
		if (still) {
			*b->last = o;
			b->last = &o->next;
		} else {
			bridge__order_free(o);
		}
	}
}

static void bridge_answered(struct letter *l, void *self)
{
	struct client_request *r = (struct client_request *)l;
	struct bridge *b = r->ctx;
	struct order *o = b->first;
	struct err err = { 0 };

	(void)self;
	CHECK(b->is_asked && o); /* one is with the commander, the first */
	b->is_asked = false;
	if (r->code < 0 && err_retryable(r->code)) {
		b->again_us = clock_mono_us(&clock_machine) + PAUSE_US;
		client_request_free(r);
		return;
	}
	bool failed;
	int code = outcome_of(r, &failed, &err);
	client_request_free(r);
	bridge_settle(b, o, code, err.text);
	bool early = is_early(o, code, failed);
	b->first = o->next;
	if (!b->first)
		b->last = &b->first;
	struct job *j = job_of(b, o->name);
	if (early && is_still(b, o)) {
		ask_later(b, o);
	} else if (o->kind == ORDER_KILL) {
		o->next = b->done;
		b->done = o;
	} else {
		bridge__order_free(o);
	}
	bridge_judge(b, j);
	bridge_pump(b, clock_mono_us(&clock_machine));
}

const struct bridge_form bridge_forms[BRIDGES] = {
	[BRIDGE_JOBS] = { .word = "jobs",
	                  .one = "job",
	                  .marks = "bridge",
	                  .gone = "gone",
	                  .document = bridge_job_document,
	                  .value = bridge_job_value },
	[BRIDGE_PIPELINES] = { .word = "pipelines",
	                       .one = "pipeline",
	                       .marks = "bridged-pipelines",
	                       .gone = "gone-pipelines",
	                       .has_steps = true,
	                       .document = bridge_pipeline_document,
	                       .value = bridge_pipeline_value },
};

bool bridge_pump(struct bridge *b, int64_t now_us)
{
	static const char *const kinds[] = { "apply", "retire", "kill" };

	ask_again(b, now_us);
	struct order *o = b->first;

	if (!o || b->is_asked || now_us < b->again_us)
		return o != NULL;
	CHECK((size_t)o->kind < sizeof kinds / sizeof kinds[0]);
	struct client_request *r = client_request_new(kinds[o->kind], o->args, strlen(o->args));
	r->reply_to = b->me;
	r->answered = bridge_answered;
	r->ctx = b;
	r->request_id = mem_str(o->request_id);
	r->actor = mem_str(ACTOR);
	b->is_asked = commander_command(b->commander, r) == 0;
	if (!b->is_asked) {
		b->again_us = now_us + PAUSE_US;
		client_request_free(r);
	}
	return true;
}
