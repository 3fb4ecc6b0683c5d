/* chin's tasks: each is a workflow of one task; its schedule is a cycle with an offset. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/seeds/chin.h"
#include "cgi/seeds/def.h"
#include "sched/task.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/yaml.h"

static const char *const weekdays[] = { "monday", "tuesday",  "wednesday", "thursday",
	                                "friday", "saturday", "sunday" };

/* --- schedules ------------------------------------------------------------------------------- */

/* "2:30", "02:30" or "02:30:15", and nothing after it. */
static bool is_clock(const char *p)
{
	static const int most[] = { 23, 59, 59 };

	for (int i = 0; i < 3; i++) {
		size_t n = strspn(p, "0123456789");

		if (n < 1 || n > 2 || (i > 0 && n != 2) || strtol(p, NULL, 10) > most[i])
			return false;
		p += n;
		if (*p == '\0')
			return i > 0;
		if (*p++ != ':')
			return false;
	}
	return false;
}

/* "3 02:30": a number and a time of day. */
static bool is_day_and_clock(const char *p, long most, long *ret_day, const char **ret_clock)
{
	char *end;
	long day = strtol(p, &end, 10);

	if (p[0] < '0' || p[0] > '9' || *end != ' ' || day < 1 || day > most || !is_clock(end + 1))
		return false;
	*ret_day = day;
	*ret_clock = end + 1;
	return true;
}

/* Cycle and offset of the task, and which day of a parent it waits for. */
static int schedule_put(struct call *c, cJSON *task, char ret_window[40])
{
	const char *type = json_text(c->json, "schedule_type");
	const char *format = json_text(c->json, "schedule_format"), *clock = format;
	char offset[60] = "";
	long day = 1;

	snprintf(ret_window, 40, "{@day}");
	if (strcmp(type, "once") == 0) {
		cJSON_AddStringToObject(task, "start_date", format);
	} else if (strcmp(type, "day") == 0) {
		if (!is_clock(format))
			return call_fail(c, E_INVALID, "schedule_format", "of day wants 02:30");
		snprintf(offset, sizeof offset, "%s", clock);
	} else if (strcmp(type, "week") == 0) {
		if (!is_day_and_clock(format, 7, &day, &clock))
			return call_fail(c, E_INVALID, "schedule_format",
			                 "of week wants a weekday, 1 Monday to 7 Sunday, and a "
			                 "time: 3 02:30");
		snprintf(offset, sizeof offset, "%s %s", weekdays[day - 1], clock);
		snprintf(ret_window, 40, "{@week+%ldd}", day - 1);
	} else if (strcmp(type, "month") == 0) {
		if (!is_day_and_clock(format, 31, &day, &clock))
			return call_fail(c, E_INVALID, "schedule_format",
			                 "of month wants a day, 1 to 31, and a time: 15 02:30");
		snprintf(offset, sizeof offset, "day %ld %s", day, clock);
		snprintf(ret_window, 40, "{@month+%ldd}", day - 1);
	} else {
		return call_fail(c, E_INVALID, "schedule_type",
		                 "schedule_type is '%.20s', want once, day, week or month", type);
	}
	cJSON_AddStringToObject(task, "cycle", type);
	if (offset[0] != '\0')
		cJSON_AddStringToObject(task, "offset", offset);
	return 0;
}

/* The same, read back. `type` NULL: it has another schedule than chin knows. */
static void schedule_show(struct buf *b, const struct def *d)
{
	const char *cycle = def_text(d, "cycle"), *offset = def_text(d, "offset");
	char format[96];

	snprintf(format, sizeof format, "%.70s", offset ? offset : "");
	if (!cycle && def_text(d, "cron")) {
		cycle = "cron";
		snprintf(format, sizeof format, "%.70s", def_text(d, "cron"));
	}
	if (cycle && strcmp(cycle, "once") == 0 && def_text(d, "start_date"))
		snprintf(format, sizeof format, "%.70s", def_text(d, "start_date"));
	if (offset && strncmp(offset, "day ", 4) == 0)
		snprintf(format, sizeof format, "%.70s", offset + 4);
	for (int i = 0; offset && i < 7; i++) {
		size_t n = strlen(weekdays[i]);

		if (strncmp(offset, weekdays[i], n) == 0)
			snprintf(format, sizeof format, "%d%.70s", i + 1, offset + n);
	}
	put_text(b, "schedule_type", cycle ? cycle : "");
	put_text(b, "schedule_format", format);
}

/* --- new, modify ----------------------------------------------------------------------------- */

static int name_take(void *ctx, const struct store_task *t)
{
	snprintf(ctx, NAMES_MAX, "%s", t->state != TS_RETIRED ? t->name : "");
	return 0;
}

static int machine_take(void *ctx, const struct store_doc *d)
{
	snprintf(ctx, NAMES_MAX, "%s", d->name);
	return 0;
}

/* father_id as links, machine_pool as machines: their names are in the store. */
static int names_put(struct call *c, struct reader *r, cJSON *task, const char *window)
{
	cJSON *needs = cJSON_AddArrayToObject(task, "needs");
	const cJSON *pool = json_get(c->json, "machine_pool"), *id;
	cJSON *machines = cJSON_GetArraySize(pool) > 0 ? cJSON_AddArrayToObject(task, "machines")
	                                               : NULL;
	char name[NAMES_MAX];

	cJSON_ArrayForEach(id, json_get(c->json, "father_id")) {
		cJSON *need = cJSON_CreateObject();

		cJSON_AddItemToArray(needs, need);
		name[0] = '\0';
		if (read_task(r, NULL, (uint32_t)id->valuedouble, name_take, name, NULL) < 0 ||
		    name[0] == '\0')
			return call_fail(c, E_NOT_FOUND, "father_id", "there is no task %.0f",
			                 id->valuedouble);
		cJSON_AddStringToObject(need, "task", name);
		cJSON_AddStringToObject(need, "window", window);
	}
	cJSON_ArrayForEach(id, pool) {
		if (read_doc(r, &(struct read_which){ DOC_BROKER, .id = (uint32_t)id->valuedouble },
		             machine_take, name, NULL) < 0)
			return call_fail(c, E_NOT_FOUND, "machine_pool", "there is no machine %.0f",
			                 id->valuedouble);
		cJSON_AddItemToArray(machines, cJSON_CreateString(name));
	}
	return 0;
}

/* The document, kept in c->json until it is applied. */
static int document_put(struct call *c, struct reader *r)
{
	const char *title = json_text(c->json, "task_name");
	char name[SEED_NAME_BYTES], window[40];
	cJSON *task, *doc;
	int code;

	seed_name_of(c, r, title, name);
	doc = def_new(c, name, title, &task);
	cJSON_AddItemToObject(c->json, "document", doc);
	if (seed_of(c)->owner[0] != '\0')
		cJSON_SetValuestring(cJSON_GetObjectItemCaseSensitive(doc, "owner"),
		                     seed_of(c)->owner);
	def_command_put(task, "shell", json_text(c->json, "command"));
	cJSON_AddStringToObject(task, "state", json_true(c->json, "valid") ? "online" : "offline");
	cJSON_AddStringToObject(cJSON_AddObjectToObject(task, "catchup"), "mode", "latest");
	cJSON_AddStringToObject(task, "expire_after", "end of local day");
	code = schedule_put(c, task, window);
	return code < 0 ? code : names_put(c, r, task, window);
}

/* The full name that task_name stands for, into s->name. */
static void full_name(struct call *c, struct reader *r)
{
	char name[SEED_NAME_BYTES];

	seed_name_of(c, r, json_text(c->json, "task_name"), name);
	snprintf(seed_of(c)->name, NAMES_MAX, "%s/%s/%s", seed_project(c), name, name);
}

int chin_task_new_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);

	full_name(c, r);
	if (json_get(c->json, "task_id"))
		return call_fail(c, E_INVALID, "task_id", "a new task has no task_id yet");
	if (seed_task(c, r) == 0)
		return call_fail(c, E_EXISTS, "task_name",
		                 "there is a task of this name, number %u", s->id);
	c->err = (struct err){ 0 };
	s->owner[0] = '\0';
	return document_put(c, r);
}

int chin_task_modify_work(struct call *c, struct reader *r)
{
	int64_t id = json_int(c->json, "task_id", 0);
	int code;

	full_name(c, r);
	code = seed_task(c, r);
	if (code == 0 && id != 0 && id != seed_of(c)->id)
		code = call_fail(c, E_INVALID, "task_id", "the task of this name is number %u",
		                 seed_of(c)->id);
	if (code == 0)
		code = chin_owns(c);
	return code < 0 ? code : document_put(c, r);
}

static int number_work(struct call *c, struct reader *r)
{
	return seed_task(c, r);
}

static int task_numbered(struct call *c)
{
	char info[40];

	if (c->err.code < 0)
		return c->err.code;
	snprintf(info, sizeof info, "task_id %u", seed_of(c)->id);
	return chin_answer(c, info);
}

static int task_applied(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	c->then = task_numbered;
	return call_read(c, number_work);
}

int chin_task_new(struct call *c)
{
	cJSON *doc = cJSON_DetachItemFromObjectCaseSensitive(c->json, "document");

	return seed_apply(c, doc, NULL, task_applied);
}

/* --- delete ---------------------------------------------------------------------------------- */

int chin_task_delete_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);
	int code;

	s->id = (uint32_t)json_int(c->json, "task_id", 0);
	code = seed_task(c, r);
	return code < 0 ? code : chin_owns(c);
}

int chin_task_delete(struct call *c)
{
	return seed_command_on(c, "retire", "tasks", seed_of(c)->name, chin_done);
}

/* --- query ----------------------------------------------------------------------------------- */

struct found {
	uint32_t id, workflow;
	uint8_t state;
	char name[NAMES_MAX], owner[256];
};

struct page {
	int64_t skip, take;
	size_t n;
	struct found rows[SEED_ROWS_MAX];
};

static int task_take(void *ctx, const struct store_task *t)
{
	struct page *p = ctx;
	struct found *f = &p->rows[p->n];

	if (p->skip > 0) {
		p->skip--;
		return 0;
	}
	if ((int64_t)p->n == p->take)
		return 0;
	*f = (struct found){ t->id, t->workflow_id, t->state, "", "" };
	snprintf(f->name, sizeof f->name, "%s", t->name);
	snprintf(f->owner, sizeof f->owner, "%s", t->owner ? t->owner : "");
	p->n++;
	return 0;
}

struct fathers {
	struct reader *r;
	struct buf *text;
};

static int id_put(void *ctx, const struct store_task *t)
{
	struct buf *b = ctx;

	buf_printf(b, "%s%u", b->len > 0 ? "," : "", t->id);
	return 0;
}

static int father_put(void *ctx, const char *name)
{
	struct fathers *f = ctx;

	(void)read_task(f->r, name, 0, id_put, f->text, NULL);
	return 0;
}

static int broker_put(void *ctx, const struct store_doc *d)
{
	struct buf *b = ctx;

	buf_printf(b, "%s%u", b->len > 0 ? "," : "", d->id);
	return 0;
}

static void pool_put(struct reader *r, const struct def *d, struct buf *text)
{
	const struct yaml_node *m = def_node(d, "machines");

	for (size_t i = 0; m && m->kind == YAML_LIST && i < m->n; i++)
		(void)read_doc(r, &(struct read_which){ DOC_BROKER, .name = m->items[i]->text },
		               broker_put, text, NULL);
}

/* What people called it: the description of those that were made here. */
static const char *title_of(const struct call *c, const struct found *f, const struct def *d)
{
	size_t n = strlen(seed_project(c));
	const char *title = def_text(d, "description");

	return strncmp(f->name, seed_project(c), n) == 0 && f->name[n] == '/' && title ? title
	                                                                               : f->name;
}

static int row_put(struct call *c, struct reader *r, const struct found *f)
{
	struct buf *b = &c->details, text;
	struct fathers fathers = { r, &text };
	struct def d = { 0 };
	char at[WHEN_TEXT], *command;
	int code = def_read(r, f->name, f->workflow, &d, &c->err);

	if (code < 0)
		goto out;
	buf_init(&text);
	put_open(b, NULL, '{');
	put_int(b, "task_id", f->id);
	put_text(b, "task_name", title_of(c, f, &d));
	command = def_command(&d);
	put_text(b, "command", command);
	free(command);
	def_needs(&d, f->name, father_put, &fathers);
	put_text(b, "father_id", buf_str(&text));
	put_int(b, "valid", f->state == TS_ONLINE);
	buf_clear(&text);
	pool_put(r, &d, &text);
	put_text(b, "machine_pool", buf_str(&text));
	int64_t owner = chin_user_id(r, f->owner);
	buf_clear(&text);
	if (owner >= 0)
		buf_printf(&text, "%lld", (long long)owner);
	put_text(b, "owner_id", buf_str(&text));
	schedule_show(b, &d);
	seed_time(d.created_us, at);
	put_text(b, "create_time", at);
	seed_time(d.changed_us, at);
	put_text(b, "update_time", at);
	put_close(b, '}');
	buf_done(&text);
out:
	def_done(&d);
	return code;
}

static int page_put(struct call *c, struct reader *r, struct page *p)
{
	const struct read_task_filter f = { .states = 1u << TS_DRAFT | 1u << TS_ONLINE |
		                                      1u << TS_OFFLINE | 1u << TS_DETACHED |
		                                      1u << TS_OVER };
	struct read_answer at = { 0 };
	int code;

	do {
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .answer = &at };

		code = read_tasks(r, &f, &page, task_take, p, &c->err);
	} while (code == 0 && (int64_t)p->n < p->take && at.cursor[0] != '\0');
	put_open(&c->details, NULL, '[');
	for (size_t i = 0; code == 0 && i < p->n; i++)
		code = row_put(c, r, &p->rows[i]);
	put_close(&c->details, ']');
	return code;
}

int chin_task_query_work(struct call *c, struct reader *r)
{
	struct page *p = mem_new(sizeof *p);
	struct seed *s = seed_of(c);
	int code;

	buf_clear(&c->details);
	if (json_true(c->json, "batch")) {
		code = seed_page(c, &p->skip, &p->take);
		code = code < 0 ? code : page_put(c, r, p);
	} else if (!json_get(c->json, "task_id")) {
		code = call_fail(c, E_INVALID, "task_id", "task_id is missing");
	} else {
		s->id = (uint32_t)json_int(c->json, "task_id", 0);
		p->take = 1;
		code = seed_task(c, r);
		if (code == 0)
			code = read_task(r, NULL, s->id, task_take, p, &c->err);
		code = code < 0 ? code : row_put(c, r, &p->rows[0]);
	}
	free(p);
	return code;
}
