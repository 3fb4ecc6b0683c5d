/* The etcd crontab's HTTP (etcd-crontab.txt, 1.2.2, 3.1): jobs saved, listed, deleted, killed by
 * name; their last logs; the healthy workers. The same jobs as those put into etcd. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/seeds/def.h"
#include "cgi/seeds/seed.h"
#include "cgi/seeds/seed_routes.h"
#include "sched/task.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

#define JOBS_MAX   10000
#define NAME_BYTES 200 /* of a job's name, wherever it is given */
#define NAME \
	{ \
		"name", SEED_TEXT, true, 1, NAME_BYTES \
	}

static int save_work(struct call *c, struct reader *r);
static int save(struct call *c);
static int old_work(struct call *c, struct reader *r);
static int job_delete(struct call *c);
static int list_work(struct call *c, struct reader *r);
static int crontab_answer(struct call *c);
static int unfinished_work(struct call *c, struct reader *r);
static int job_kill(struct call *c);
static int logs_work(struct call *c, struct reader *r);
static int crontab_logs(struct call *c);
static int workers(struct call *c);

/* The roles are the routes'. */
static const struct seed_row rows[] = {
	{ "/job/save",
	  ROLE_NONE,
	  { { "job", SEED_MAP, false, 0, 0 },
	    { "name", SEED_TEXT, false, 1, NAME_BYTES },
	    { "command", SEED_TEXT, false, 1, 65536 },
	    { "cronExpr", SEED_TEXT, false, 1, 256 } },
	  save_work,
	  save },
	{ "/job/delete", ROLE_NONE, { NAME }, old_work, job_delete },
	{ "/job/list", ROLE_NONE, { { NULL, SEED_INT, false, 0, 0 } }, list_work, crontab_answer },
	{ "/job/kill", ROLE_NONE, { NAME }, unfinished_work, job_kill },
	{ "/job/log",
	  ROLE_NONE,
	  { NAME,
	    { "skip", SEED_INT, false, 0, 100000 },
	    { "limit", SEED_INT, false, 1, SEED_ROWS_MAX } },
	  logs_work,
	  crontab_logs },
	{ "/worker/list", ROLE_NONE, { { NULL, SEED_INT, false, 0, 0 } }, NULL, workers },
};

int crontab_call(struct call *c)
{
	int r = seed_begin(c, rows, sizeof rows / sizeof rows[0], false);

	return r < 0 ? r : seed_go(c);
}

static int crontab_answer(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
	put_int(&c->out, "errno", 0);
	put_text(&c->out, "msg", "success");
	put_raw(&c->out, "data", c->details.len > 0 ? buf_str(&c->details) : "null");
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

/* --- jobs ------------------------------------------------------------------------------------ */

static int job_put(struct call *c, struct reader *r, const char *task, uint32_t workflow)
{
	struct buf *b = &c->details;
	struct def d = { 0 };
	int code = def_read(r, task, workflow, &d, &c->err);

	if (code == 0) {
		const char *title = def_text(&d, "description"), *cron = def_text(&d, "cron");
		char *command = def_command(&d);

		put_open(b, NULL, '{');
		put_text(b, "name", title ? title : strrchr(task, '/') + 1);
		put_text(b, "command", command);
		put_text(b, "cronExpr", cron ? cron : "");
		put_close(b, '}');
		free(command);
	}
	def_done(&d);
	return code;
}

/* The job of that name as it is, into c->details. */
static int job_old(struct call *c, struct reader *r, const char *title)
{
	struct seed *s = seed_of(c);
	char name[SEED_NAME_BYTES];
	int code;

	seed_name_of(c, r, title, name);
	snprintf(s->name, sizeof s->name, "%s/%s/%s", seed_project(c), name, name);
	buf_clear(&c->details);
	code = seed_task(c, r);
	return code < 0 ? code : job_put(c, r, s->name, s->workflow);
}

static int named_work(struct call *c, struct reader *r)
{
	return job_old(c, r, json_text(c->json, "name"));
}

/* One that was deleted while it ran is there no more, though its last run goes on. */
static int job_now(struct call *c, struct reader *r, const char *title)
{
	int code = job_old(c, r, title);

	if (code == 0 && seed_of(c)->leaves)
		return call_fail(c, E_NOT_FOUND, "name", "there is no such job");
	return code;
}

static int old_work(struct call *c, struct reader *r)
{
	return job_now(c, r, json_text(c->json, "name"));
}

/* As a form has it, {"name", "command", "cronExpr"} in `job`; or the three themselves. */
static int save_work(struct call *c, struct reader *r)
{
	const cJSON *job = json_get(c->json, "job") ? json_get(c->json, "job") : c->json;
	static const char *const keys[] = { "name", "command", "cronExpr" };
	char name[SEED_NAME_BYTES];
	cJSON *doc, *task, *m;
	int code;

	for (size_t i = 0; i < 3; i++) {
		if (!json_text(job, keys[i]) || json_text(job, keys[i])[0] == '\0')
			return call_fail(c, E_INVALID, keys[i], "%s is missing", keys[i]);
		if ((code = seed_bounds(c, &rows[0], keys[i], json_get(job, keys[i]))) < 0)
			return code;
	}
	cJSON_ArrayForEach(m, job)
		if (job != c->json && strcmp(m->string, "name") != 0 &&
		    strcmp(m->string, "command") != 0 && strcmp(m->string, "cronExpr") != 0)
			return call_fail(c, E_INVALID, "job", "a job has no '%.40s'", m->string);
	code = job_now(c, r, json_text(job, "name"));
	if (code < 0 && code != E_NOT_FOUND)
		return code;
	c->err = (struct err){ 0 };
	c->place[0] = '\0';
	seed_name_of(c, r, json_text(job, "name"), name);
	doc = def_new(c, name, json_text(job, "name"), &task);
	def_command_put(task, "shell", json_text(job, "command"));
	cJSON_AddStringToObject(task, "cron", json_text(job, "cronExpr"));
	cJSON_AddStringToObject(cJSON_AddObjectToObject(task, "catchup"), "mode", "none");
	cJSON_AddStringToObject(task, "overlap", "skip"); /* as the interface's own lock does */
	cJSON_AddItemToObject(c->json, "document", doc);
	return 0;
}

static int save(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	return seed_apply(c, cJSON_DetachItemFromObjectCaseSensitive(c->json, "document"), NULL,
	                  crontab_answer);
}

static int job_delete(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	cJSON *args = cJSON_CreateObject(), *names = cJSON_CreateArray();

	/* Its plan ends now; what runs goes on, and ends as it does. */
	cJSON_AddItemToArray(names, cJSON_CreateString(seed_of(c)->name));
	cJSON_AddItemToObject(cJSON_AddObjectToObject(args, "selection"), "tasks", names);
	cJSON_AddTrueToObject(args, "detach");
	cJSON_AddStringToObject(args, "running", "wait");
	return seed_ask(c, "retire", args, crontab_answer);
}

struct jobs {
	size_t n, cap;
	struct {
		char name[NAMES_MAX];
		uint32_t workflow;
	} * items;
};

static int job_take(void *ctx, const struct store_task *t)
{
	struct jobs *j = ctx;

	if (j->n == JOBS_MAX)
		return E_LIMIT;
	j->items = mem_room(j->items, &j->cap, j->n + 1, sizeof *j->items);
	snprintf(j->items[j->n].name, NAMES_MAX, "%s", t->name);
	j->items[j->n++].workflow = t->workflow_id;
	return 0;
}

static int list_work(struct call *c, struct reader *r)
{
	char prefix[80];
	const struct read_task_filter f = { .prefix = prefix,
		                            .states = ~(1u << TS_RETIRED | 1u << TS_DETACHED) };
	struct read_answer at = { 0 };
	struct jobs j = { 0 };
	int code;

	snprintf(prefix, sizeof prefix, "%s/", seed_project(c));
	do {
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .answer = &at };

		code = read_tasks(r, &f, &page, job_take, &j, &c->err);
	} while (code == 0 && at.cursor[0] != '\0');
	buf_clear(&c->details);
	put_open(&c->details, NULL, '[');
	for (size_t i = 0; code == 0 && i < j.n; i++)
		code = job_put(c, r, j.items[i].name, j.items[i].workflow);
	put_close(&c->details, ']');
	free(j.items);
	return code;
}

/* --- kill, logs, workers --------------------------------------------------------------------- */

static int unfinished_work(struct call *c, struct reader *r)
{
	int code = named_work(c, r);

	buf_clear(&c->details);
	return code < 0 ? code : seed_unfinished(c, r);
}

/* As putting a key there: nothing to kill is no error. */
static int job_kill(struct call *c)
{
	if (c->err.code < 0 || seed_of(c)->n == 0)
		return crontab_answer(c);
	return seed_kill(c, crontab_answer);
}

/* {name, command, cronExpr} is left in c->details for the rows: name and command are in each. */
static int logs_work(struct call *c, struct reader *r)
{
	int code = named_work(c, r);
	cJSON *job = NULL;

	if (code == 0)
		code = json_parse(buf_str(&c->details), c->details.len, &job, &c->err);
	buf_clear(&c->details);
	if (code < 0)
		return code;
	cJSON_DeleteItemFromObjectCaseSensitive(c->json, "of");
	cJSON_AddItemToObject(c->json, "of", job);
	return seed_begun(c, r, json_int(c->json, "skip", 0), json_int(c->json, "limit", 20));
}

static void log_begin(struct call *c, const struct seed_log *l)
{
	struct buf *b = &c->details;
	const cJSON *job = json_get(c->json, "of");
	char why[80] = "";

	if (l->state != ST_SUCC && l->ended_us != 0)
		snprintf(why, sizeof why, "%s: %s, exit status %d",
		         state_name((enum state)l->state), reason_name((enum reason)l->reason),
		         l->exit_code);
	put_open(b, NULL, '{');
	put_text(b, "jobName", json_text(job, "name"));
	put_text(b, "command", json_text(job, "command"));
	put_text(b, "err", why);
	put_int(b, "startTime", l->begun_us / US_PER_MS);
	put_int(b, "endTime", l->ended_us / US_PER_MS);
}

static int logs_done(struct call *c)
{
	put_close(&c->details, ']');
	return crontab_answer(c);
}

static int crontab_logs(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	put_open(&c->details, NULL, '[');
	return seed_outputs(c, log_begin, true, logs_done);
}

static int workers_came(struct call *c)
{
	cJSON *root = NULL;
	const cJSON *m;

	if (c->err.code < 0 ||
	    json_parse((const char *)buf_at(&c->out), c->out.len, &root, &c->err) < 0)
		return c->err.code;
	put_open(&c->details, NULL, '[');
	cJSON_ArrayForEach(m, json_get(root, "brokers")) {
		char ip[80];

		seed_ip(json_text(m, "address"), ip);
		if (json_true(m, "online") && json_true(m, "accepts"))
			put_text(&c->details, NULL, ip);
	}
	put_close(&c->details, ']');
	json_free(root);
	return crontab_answer(c);
}

static int workers(struct call *c)
{
	c->then = workers_came;
	return call_query(c, "brokers", "{}");
}
