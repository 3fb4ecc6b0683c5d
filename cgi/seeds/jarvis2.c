/* jarvis2's REST (jarvis2.txt, 4): a job is a task, its status and log those of its newest
 * instance. Apps sign in with name and key. */
#include <cjson/cJSON.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/handlers/handle_streams.h"
#include "cgi/http/cgi.h"
#include "cgi/seeds/def.h"
#include "cgi/seeds/program.h"
#include "cgi/seeds/seed.h"
#include "cgi/seeds/seed_routes.h"
#include "cgi/who/auth.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/yaml.h"

#define LOG_BYTES  262144
#define TYPE_BYTES 65

#define APP \
	{ "app_name", SEED_TEXT, true, 1, 63 }, \
	{ \
		"app_key", SEED_TEXT, true, 1, 100 \
	}
#define JOB \
	{ \
		"job_id", SEED_INT, true, 0, UINT32_MAX \
	}
#define TYPE \
	{ \
		"type", SEED_TEXT, true, 1, 10 \
	}

static int submit_work(struct call *c, struct reader *r);
static int submit(struct call *c);
static int newest_work(struct call *c, struct reader *r);
static int jarvis2_status(struct call *c);
static int unfinished_work(struct call *c, struct reader *r);
static int job_kill(struct call *c);
static int log_read(struct call *c);
static int download(struct call *c);
static int worker(struct call *c);

static const struct seed_row rows[] = {
	{ "/api/job/submit",
	  ROLE_DEVELOPER,
	  { APP,
	    { "job_name", SEED_TEXT, true, 1, 200 },
	    { "cron_expression", SEED_TEXT, false, 0, 256 },
	    { "dependency_jobids", SEED_INTS, false, 0, 0 },
	    { "user", SEED_TEXT, true, 1, 200 },
	    { "job_type", SEED_TEXT, true, 1, 64 },
	    { "command", SEED_TEXT, true, 1, 65536 },
	    { "group_id", SEED_INT, true, 0, INT32_MAX },
	    { "priority", SEED_INT, false, 1, 10 },
	    { "parameters", SEED_MAP, false, 0, 0 } },
	  submit_work,
	  submit },
	{ "/api/job/status", ROLE_VIEWER, { APP, JOB }, newest_work, jarvis2_status },
	{ "/api/job/kill", ROLE_OPERATOR, { APP, JOB }, unfinished_work, job_kill },
	{ "/api/log",
	  ROLE_VIEWER,
	  { APP,
	    JOB,
	    TYPE,
	    { "offset", SEED_INT, false, 0, INT64_C(1) << 52 },
	    { "lines", SEED_INT, false, 1, 10000 } },
	  newest_work,
	  log_read },
	{ "/api/log/download", ROLE_VIEWER, { APP, JOB, TYPE }, newest_work, download },
	{ "/api/worker/status",
	  ROLE_ADMIN,
	  { APP,
	    { "ip", SEED_TEXT, true, 1, 64 },
	    { "port", SEED_INT, true, 0, 65535 },
	    { "status", SEED_INT, true, 0, 1 } },
	  NULL,
	  worker },
};

int jarvis2_call(struct call *c)
{
	int r = seed_begin(c, rows, sizeof rows / sizeof rows[0], false);
	const struct seed_row *row = seed_of(c)->row;

	if (r == 0)
		r = auth_check_app(c->cgi->auth, c, json_text(c->json, "app_name"),
		                   json_text(c->json, "app_key"));
	if (r == 0 && c->role < row->role)
		r = call_fail(c, E_FORBIDDEN, "app_key", "this needs the role %s, %s has %s",
		              role_name(row->role), c->actor, role_name(c->role));
	return r < 0 ? r : seed_go(c);
}

static int jarvis2_answer(struct call *c)
{
	put_close(&c->out, '}');
	return reply_json(c, MHD_HTTP_OK);
}

static void answer_begin(struct call *c)
{
	buf_clear(&c->out);
	put_open(&c->out, NULL, '{');
}

/* --- submit ---------------------------------------------------------------------------------- */

static int parent_take(void *ctx, const struct store_task *t)
{
	struct seed *s = ctx;

	s->found = t->state != TS_RETIRED;
	s->workflow = t->workflow_id;
	snprintf(s->name, sizeof s->name, "%s", t->name);
	return 0;
}

static void once_put(struct call *c, cJSON *task)
{
	int64_t at = clock_wall_us(&clock_machine) / US_PER_S;
	char now[WHEN_TEXT];

	/* Each submission has a date of its own, two in one second too. */
	if (at <= seed_of(c)->since)
		at = seed_of(c)->since + 1;
	when_print(at, now);
	cJSON_AddStringToObject(task, "cycle", "once");
	cJSON_AddStringToObject(task, "start_date", now);
}

/* A job without a cron of its own runs when its first parent does. */
static void schedule_put(struct call *c, const struct def *parent, cJSON *task)
{
	const char *cycle = def_text(parent, "cycle"), *cron = def_text(parent, "cron");

	if (cycle && strcmp(cycle, "once") == 0) {
		once_put(c, task);
		return;
	}
	if (cycle)
		cJSON_AddStringToObject(task, "cycle", cycle);
	if (cron)
		cJSON_AddStringToObject(task, "cron", cron);
}

/* The dates that are meant: of a one-off parent its only one, whenever that is; of others, for a
 * job that runs once, those of its day. */
static void need_put(const struct def *parent, const char *name, const cJSON *task, cJSON *needs)
{
	const char *cycle = def_text(parent, "cycle"), *own = json_text(task, "cycle");
	const char *window = cycle && strcmp(cycle, "once") == 0 ? "[@day-36500d, @day+36500d)"
	                     : own && strcmp(own, "once") == 0   ? "{@day}"
	                                                         : NULL;
	cJSON *need;

	if (!window) {
		cJSON_AddItemToArray(needs, cJSON_CreateString(name));
		return;
	}
	need = cJSON_CreateObject();
	cJSON_AddStringToObject(need, "task", name);
	cJSON_AddStringToObject(need, "window", window);
	cJSON_AddItemToArray(needs, need);
}

static int parent_put(struct call *c, struct reader *r, uint32_t id, bool gives_schedule,
                      cJSON *task, cJSON *needs)
{
	struct seed *s = seed_of(c);
	struct def d = { 0 };
	int code;

	s->found = false;
	if (read_task(r, NULL, id, parent_take, s, NULL) < 0 || !s->found)
		return call_fail(c, E_NOT_FOUND, "dependency_jobids", "there is no job %u", id);
	code = def_read(r, s->name, s->workflow, &d, &c->err);
	if (code == 0 && gives_schedule)
		schedule_put(c, &d, task);
	if (code == 0)
		need_put(&d, s->name, task, needs);
	def_done(&d);
	return code;
}

static int parents_put(struct call *c, struct reader *r, cJSON *task)
{
	cJSON *needs = cJSON_AddArrayToObject(task, "needs");
	const char *cron = json_text(c->json, "cron_expression");
	const cJSON *id, *ids = json_get(c->json, "dependency_jobids");
	int code = 0;

	bool has_cron = cron && cron[0] != '\0';

	if (has_cron)
		cJSON_AddStringToObject(task, "cron", cron);
	else if (cJSON_GetArraySize(ids) == 0)
		once_put(c, task);
	cJSON_ArrayForEach(id, ids)
		if (code == 0)
			code = parent_put(c, r, (uint32_t)id->valuedouble,
			                  !has_cron && id == ids->child, task, needs);
	return code;
}

/* What a type does not know as its own goes to the program: of mapreduce as -D settings. */
static cJSON *home_of(cJSON *params, const char *type, const char *name)
{
	static const char *const own[] = { "jar",     "class",       "conf",     "args",
		                           "program", "environment", "directory" };
	cJSON *conf;

	if (strcmp(type, "mapreduce") != 0)
		return params;
	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
		if (strcmp(own[i], name) == 0)
			return params;
	conf = cJSON_GetObjectItemCaseSensitive(params, "conf");
	return conf ? conf : cJSON_AddObjectToObject(params, "conf");
}

static void parameters_put(struct call *c, cJSON *task)
{
	cJSON *params = cJSON_GetObjectItemCaseSensitive(task, "params");
	const cJSON *v;

	cJSON_ArrayForEach(v, json_get(c->json, "parameters")) {
		cJSON *copy = cJSON_Duplicate(v, false);
		cJSON *home = home_of(params, json_text(task, "type"), v->string);

		cJSON_DeleteItemFromObjectCaseSensitive(home, v->string);
		cJSON_AddItemToObject(home, v->string, copy);
	}
}

/* job_type, as the document writes it ("MapReduce") or as we call it. */
static void type_take(struct call *c, char ret[TYPE_BYTES])
{
	snprintf(ret, TYPE_BYTES, "%s", json_text(c->json, "job_type"));
	for (char *p = ret; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
}

/* A job of the same name is another version of it, if it is the same app's. */
static int owner_check(struct call *c, struct reader *r, const char *name)
{
	struct seed *s = seed_of(c);
	struct def d = { 0 };
	const struct yaml_node *app;
	struct when last;
	int code;

	snprintf(s->name, sizeof s->name, "%s/%s/%s", seed_project(c), name, name);
	if (seed_task(c, r) < 0) {
		c->err = (struct err){ 0 };
		c->place[0] = '\0';
		return 0;
	}
	code = def_read(r, s->name, s->workflow, &d, &c->err);
	app = d.workflow ? yaml_get(d.workflow, "description") : NULL;
	if (code == 0 && (!app || !yaml_is(app, json_text(c->json, "app_name"))))
		code = call_fail(c, E_FORBIDDEN, "job_name", "another app has a job of this name");
	if (code == 0 && def_text(&d, "start_date") &&
	    when_parse(def_text(&d, "start_date"), WHEN_NO_NOW, &last))
		s->since = when_instant(&last, tz_utc(), false);
	def_done(&d);
	return code;
}

static int submit_work(struct call *c, struct reader *r)
{
	char name[SEED_NAME_BYTES], group[32], type[TYPE_BYTES];
	int64_t group_id = json_int(c->json, "group_id", 0);
	cJSON *doc, *task;
	int code;

	seed_name_of(c, r, json_text(c->json, "job_name"), name);
	code = owner_check(c, r, name);
	if (code < 0)
		return code;
	doc = def_new(c, name, json_text(c->json, "app_name"), &task);
	cJSON_AddItemToObject(c->json, "document", doc);
	cJSON_AddStringToObject(task, "owner", json_text(c->json, "user"));
	cJSON_AddStringToObject(task, "description", json_text(c->json, "job_name"));
	type_take(c, type);
	if (!program_is(type))
		def_command_put(task, type, json_text(c->json, "command"));
	else if (program_put(c, task, type, json_text(c->json, "command")) < 0)
		return c->err.code;
	parameters_put(c, task);
	if (group_id > 0) {
		snprintf(group, sizeof group, "group-%" PRId64, group_id);
		cJSON_AddStringToObject(task, "group", group);
	}
	cJSON_AddNumberToObject(task, "priority", (double)json_int(c->json, "priority", 1));
	code = parents_put(c, r, task);
	snprintf(seed_of(c)->name, NAMES_MAX, "%s/%s/%s", seed_project(c), name, name);
	return code;
}

static int jarvis2_numbered(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	answer_begin(c);
	put_int(&c->out, "job_id", seed_of(c)->id);
	put_bool(&c->out, "accept", true);
	put_text(&c->out, "message", "");
	return jarvis2_answer(c);
}

static int submitted(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	c->then = jarvis2_numbered;
	return call_read(c, seed_task);
}

/* Those of the document are known before any machine has said that it runs them. */
static bool type_is_known(const cJSON *types, const char *type, struct buf *names)
{
	static const char *const own[] = { "shell", "hive", "presto", "java", "mapreduce" };
	const cJSON *t;
	bool is = false;

	for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
		is = is || strcmp(own[i], type) == 0;
		buf_printf(names, "%s%s", i > 0 ? ", " : "", own[i]);
	}
	cJSON_ArrayForEach(t, types) {
		const char *name = json_text(t, "type");

		is = is || (name && strcmp(name, type) == 0);
		if (name && !strstr(buf_str(names), name))
			buf_printf(names, ", %s", name);
	}
	return is;
}

static int typed(struct call *c)
{
	char type[TYPE_BYTES];
	cJSON *root = NULL;
	struct buf names;
	int r = c->err.code;

	if (r == 0)
		r = json_parse((const char *)buf_at(&c->out), c->out.len, &root, &c->err);
	if (r < 0)
		return r;
	buf_init(&names);
	type_take(c, type);
	if (!type_is_known(json_get(root, "types"), type, &names))
		r = call_fail(c, E_INVALID, "job_type", "there is no job type '%s', want one of %s",
		              type, buf_str(&names));
	buf_done(&names);
	json_free(root);
	if (r < 0)
		return r;
	buf_clear(&c->out);
	cJSON *doc = cJSON_DetachItemFromObjectCaseSensitive(c->json, "document");
	const cJSON *task = json_get(doc, "tasks");
	/* What runs once begins by its own date, however long the way to the server is. */
	return seed_apply(c, doc, task ? json_text(task->child, "start_date") : NULL, submitted);
}

static int submit(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	c->then = typed;
	return call_query(c, "types", "{}");
}

/* --- status, kill ---------------------------------------------------------------------------- */

static int instance_take(void *ctx, const struct instance *row)
{
	struct call *c = ctx;
	struct seed *s = seed_of(c);
	const struct instance i = instance_now(row);

	s->key = i.key;
	s->at = i.state;
	s->n = 1;
	return 0;
}

static int newest_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);
	struct read_filter f = { .tasks = &s->id, .n_tasks = 1 };
	const struct read_page page = { .limit = 1, .descending = true };
	int code;

	s->id = (uint32_t)json_int(c->json, "job_id", 0);
	s->n = 0;
	code = seed_task(c, r);
	if (code < 0)
		return code;
	return read_instances(r, &f, &page, instance_take, c, &c->err);
}

/* The numbers of schema/tbl/state.def; a job that has no instance yet is Ready. */
static int jarvis2_status(struct call *c)
{
	struct seed *s = seed_of(c);

	if (c->err.code < 0)
		return c->err.code;
	answer_begin(c);
	put_int(&c->out, "job_id", s->id);
	put_int(&c->out, "status", s->n > 0 ? state_number((enum state)s->at) : 0);
	return jarvis2_answer(c);
}

static int unfinished_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);
	int code;

	s->id = (uint32_t)json_int(c->json, "job_id", 0);
	code = seed_task(c, r);
	return code < 0 ? code : seed_unfinished(c, r);
}

static int killed(struct call *c)
{
	cJSON *root = NULL;
	bool success;

	if (c->err.code < 0)
		return c->err.code;
	if (json_parse((const char *)buf_at(&c->out), c->out.len, &root, &c->err) < 0)
		return c->err.code;
	success = json_int(root, "failed", 0) == 0;
	json_free(root);
	answer_begin(c);
	put_int(&c->out, "job_id", seed_of(c)->id);
	put_bool(&c->out, "success", success);
	return jarvis2_answer(c);
}

static int job_kill(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	if (seed_of(c)->n == 0)
		return call_fail(c, E_CONFLICT, "job_id", "nothing of this job is unfinished");
	return seed_kill(c, killed);
}

/* --- logs ------------------------------------------------------------------------------------ */

static int type_read(struct call *c)
{
	static const char *const words[] = { "stdout", "1", "stderr", "2" };
	const char *type = json_text(c->json, "type");

	for (int i = 0; i < 4; i++)
		if (strcmp(words[i], type) == 0)
			return i / 2 + 1;
	return call_fail(c, E_INVALID, "type", "type is '%.10s', want 1 or stdout, 2 or stderr",
	                 type);
}

/* The first `lines` lines of what came, and of a line too long the characters that are whole. */
static size_t lines_end(const char *text, size_t n, int64_t lines)
{
	size_t end = 0;

	for (size_t i = 0; i < n && lines > 0; i++)
		if (text[i] == '\n') {
			end = i + 1;
			lines--;
		}
	if (lines == 0 || (end > 0 && n >= LOG_BYTES))
		return end;
	while (n >= LOG_BYTES && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	return n;
}

static int log_came(struct call *c)
{
	struct seed *s = seed_of(c);
	struct buf *b = &c->details;
	size_t take;

	if (c->err.code < 0 && c->err.code != E_NOT_FOUND)
		return c->err.code;
	if (c->err.code < 0) { /* nothing was written yet */
		c->err = (struct err){ 0 };
		s->log.ret_end = false;
		s->log.ret_offset = s->log.offset;
	}
	take = lines_end((const char *)buf_at(&c->out), c->out.len,
	                 json_int(c->json, "lines", 100));
	put_open(b, NULL, '{');
	put_int(b, "job_id", s->id);
	put_int(b, "type", s->log.stream);
	put_bool(b, "is_end", s->log.ret_end && take == c->out.len);
	put_bytes(b, "log", buf_at(&c->out), take);
	put_int(b, "offset", (int64_t)(s->log.ret_offset + take));
	put_close(b, '}');
	buf_clear(&c->out);
	buf_put(&c->out, buf_at(b), b->len);
	buf_clear(b);
	return reply_json(c, MHD_HTTP_OK);
}

/* Which log of which run is wanted: the stream, or an error. */
static int stream_read(struct call *c)
{
	int type = c->err.code < 0 ? c->err.code : type_read(c);

	if (type >= 0 && seed_of(c)->n == 0)
		return call_fail(c, E_NOT_FOUND, "job_id", "this job has not run yet");
	return type;
}

static int log_read(struct call *c)
{
	struct seed *s = seed_of(c);
	int type = stream_read(c);

	if (type < 0)
		return type;
	buf_clear(&c->out);
	s->log = (struct log_ask){ .key = s->key,
		                   .stream = (uint32_t)type,
		                   .bytes_max = LOG_BYTES,
		                   .offset = (uint64_t)json_int(c->json, "offset", 0) };
	c->then = log_came;
	return call_log(c);
}

static int download(struct call *c)
{
	struct seed *s = seed_of(c);
	int type = stream_read(c);

	if (type < 0)
		return type;
	s->log = (struct log_ask){ .key = s->key, .stream = (uint32_t)type };
	return log_file(c);
}

/* --- workers --------------------------------------------------------------------------------- */

static int jarvis2_drained(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	answer_begin(c);
	put_text(&c->out, "ip", json_text(c->json, "ip"));
	put_int(&c->out, "port", json_int(c->json, "port", 0));
	put_bool(&c->out, "success", true);
	return jarvis2_answer(c);
}

/* Brokers have no port of their own: all at the address are meant. */
static int workers_came(struct call *c)
{
	cJSON *root = NULL, *args, *names;
	const cJSON *m;
	const char *ip = json_text(c->json, "ip");

	if (c->err.code < 0 ||
	    json_parse((const char *)buf_at(&c->out), c->out.len, &root, &c->err) < 0)
		return c->err.code;
	args = cJSON_CreateObject();
	names = cJSON_AddArrayToObject(args, "brokers");
	cJSON_ArrayForEach(m, json_get(root, "brokers")) {
		char at[80];

		seed_ip(json_text(m, "address"), at);
		if (strcmp(at, ip) == 0)
			cJSON_AddItemToArray(names, cJSON_CreateString(json_text(m, "name")));
	}
	json_free(root);
	if (cJSON_GetArraySize(names) > 0)
		return seed_ask(
			c, json_int(c->json, "status", 0) == 1 ? "broker-undrain" : "broker-drain",
			args, jarvis2_drained);
	cJSON_Delete(args);
	return call_fail(c, E_NOT_FOUND, "ip", "there is no worker at %.64s", ip);
}

static int worker(struct call *c)
{
	c->then = workers_came;
	return call_query(c, "brokers", "{}");
}
