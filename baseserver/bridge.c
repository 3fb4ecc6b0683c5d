#include "baseserver/bridge.h"

#include <cjson/cJSON.h>
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
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/log.h"

enum { JOB_BYTES_MAX = 60, PROBLEMS_SHOWN = 100, COMMAND_BYTES_MAX = 65536 };
#define PAUSE_US (500 * US_PER_MS)

enum order_kind { ORDER_PUT, ORDER_GONE, ORDER_KILL };

/* A command on its way, or waiting for its turn. */
struct order {
	struct order *next;
	enum order_kind kind;
	char *name, *args, *request_id;
	int64_t mod_revision;
};

struct job {
	char *name, *problem;     /* problem NULL: none */
	int64_t mod_revision;     /* of its key as last taken; 0: known from the store alone */
	bool is_there, is_listed; /* there: the store has it, as last answered */
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

	if (!d->retired && strncmp(d->name, b->project, n) == 0 && d->name[n] == '/')
		job_of(b, d->name + n + 1)->is_there = true;
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

/* ---- a job's document --------------------------------------------------------------------- */

static int fields_check(const struct cJSON *root, const char *name, struct err *err)
{
	static const char *const texts[] = { "command", "cronExpr", "name", NULL };
	const struct cJSON *item;

	if (!cJSON_IsObject(root))
		return err_set(err, E_INVALID,
		               "want an object {\"name\", \"command\", \"cronExpr\"}");
	cJSON_ArrayForEach(item, root)
	{
		size_t k = 0;
		while (texts[k] && strcmp(texts[k], item->string) != 0)
			k++;
		if (!texts[k])
			return err_set(err, E_INVALID,
			               "has '%.60s', known are name, command and cronExpr",
			               item->string);
		if (!cJSON_IsString(item))
			return err_set(err, E_INVALID, "%s is no text", item->string);
	}
	for (size_t k = 0; k < 2; k++)
		if (!json_text(root, texts[k]) || !json_text(root, texts[k])[0])
			return err_set(err, E_INVALID, "%s is missing", texts[k]);
	if (json_text(root, "name") && strcmp(json_text(root, "name"), name) != 0)
		return err_set(err, E_INVALID, "name is '%.60s', the key's is '%s'",
		               json_text(root, "name"), name);
	return 0;
}

/* The command is the shell's: nothing in it is ours to expand. */
static void put_script(struct json_out *j, const char *command)
{
	struct buf text;

	buf_init(&text);
	for (; *command; command++)
		buf_puts(&text, *command == '$' ? "$$" : (char[]){ *command, 0 });
	json_field_text(j, "script", buf_str(&text));
	buf_done(&text);
}

static void open_in(struct json_out *j, const char *key)
{
	json_add_key(j, key);
	json_open_object(j);
}

static void document_print(const char *project, const char *name, const struct cJSON *root,
                           struct buf *out)
{
	struct json_out j;

	json_out_start(&j, out);
	json_open_object(&j);
	json_field_text(&j, "workflow", name);
	json_field_text(&j, "project", project);
	open_in(&j, "defaults");
	json_field_text(&j, "type", "shell");
	open_in(&j, "catchup");
	json_field_text(&j, "mode", "none");
	json_close_object(&j);
	json_field_text(&j, "overlap", "skip"); /* as a lock of the job's name does */
	json_close_object(&j);
	open_in(&j, "tasks");
	open_in(&j, name);
	json_field_text(&j, "cron", json_text(root, "cronExpr"));
	open_in(&j, "params");
	put_script(&j, json_text(root, "command"));
	json_close_object(&j);
	json_close_object(&j);
	json_close_object(&j);
	json_close_object(&j);
	json_out_end(&j);
}

int bridge_document(const char *project, const char *name, const char *json, size_t n,
                    struct buf *ret_text, struct err *err)
{
	struct cJSON *root = NULL;
	char why[NAME_WHY_BYTES];
	int r = 0;

	if (strlen(name) > JOB_BYTES_MAX)
		return err_set(err, E_INVALID, "the name has %zu bytes, at most %d are allowed",
		               strlen(name), JOB_BYTES_MAX);
	if (name_wrong(name, why))
		return err_set(err, E_INVALID, "the name is none: %s", why);
	if (n > COMMAND_BYTES_MAX)
		return err_set(err, E_TOO_BIG, "%zu bytes, at most %d", n, COMMAND_BYTES_MAX);
	r = json_parse(json, n, &root, err);
	if (r == 0)
		r = fields_check(root, name, err);
	if (r == 0)
		document_print(project, name, root, ret_text);
	json_free(root);
	return r;
}

/* ---- orders ------------------------------------------------------------------------------- */

static void order_put(struct bridge *b, enum order_kind kind, const char *cluster, const char *name,
                      int64_t revision, struct buf *args)
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
}

static void apply(struct bridge *b, const char *cluster, struct job *j, const struct etcd_kv *kv)
{
	struct buf text, args;
	struct err err = { 0 };
	struct json_out out;

	buf_init(&text);
	if (bridge_document(b->project, j->name, kv->value, kv->value_len, &text, &err) < 0) {
		problem(b, "jobs", j, err.text);
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
	order_put(b, ORDER_PUT, cluster, j->name, kv->mod_revision, &args);
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

void bridge_job(struct bridge *b, const char *cluster, const char *name, const struct etcd_kv *kv)
{
	struct job *j = job_of(b, name);

	j->is_listed = !kv->is_deleted;
	if (kv->mod_revision <= j->mod_revision)
		return;
	j->mod_revision = kv->mod_revision;
	if (kv->is_deleted)
		retire(b, cluster, j, kv->mod_revision);
	else
		apply(b, cluster, j, kv);
}

void bridge_kill(struct bridge *b, const char *cluster, const char *name, const struct etcd_kv *kv)
{
	struct buf args;

	if (kv->is_deleted)
		return;
	if (strlen(name) > JOB_BYTES_MAX || !name_ok(name)) {
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
	for (size_t i = 0; i < b->n; i++) {
		b->jobs[i].is_listed = false;
		/* Another cluster, or an old state of this one, counts anew. */
		b->jobs[i].mod_revision = 0;
	}
}

static bool is_ordered(const struct bridge *b, const char *name)
{
	const struct order *o = b->first;

	while (o && (o->kind != ORDER_PUT || strcmp(o->name, name) != 0))
		o = o->next;
	return o != NULL;
}

void bridge_end(struct bridge *b, const char *cluster, int64_t revision)
{
	for (size_t i = 0; i < b->n; i++)
		if (!b->jobs[i].is_listed &&
		    (b->jobs[i].is_there || is_ordered(b, b->jobs[i].name)))
			retire(b, cluster, &b->jobs[i], revision);
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
	if (is_well && o->kind != ORDER_KILL)
		j->is_there = o->kind == ORDER_PUT;
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

int bridge_sweep(struct bridge *b, struct etcd *e, const char *prefix, struct err *err)
{
	int r = 0;

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
