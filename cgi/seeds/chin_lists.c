/* chin's logs, actions and machines. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/seeds/chin.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"

/* --- logs ------------------------------------------------------------------------------------ */

/* An instance as one number, as chin has it: the task's above, 34 bits of run_date below. */
#define DATE_BITS 34

static int log_of_id(struct call *c, struct reader *r, const char *text)
{
	struct seed *s = seed_of(c);
	uint64_t id = strtoull(text, NULL, 10);
	struct inst_key key = { .task = (uint32_t)(id >> DATE_BITS),
		                .run_date = (int64_t)(id & ((UINT64_C(1) << DATE_BITS) - 1)) };
	struct instance i;

	if (id >> DATE_BITS > UINT32_MAX || read_instance(r, key, &i, NULL, NULL) < 0 ||
	    i.started_us == 0)
		return call_fail(c, E_NOT_FOUND, "log_id", "there is no such log");
	s->rows[0] = seed_log_of(&i);
	s->n = 1;
	return 0;
}

int chin_log_query_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);
	bool batch = json_true(c->json, "batch"), given = json_true(c->json, "given_task");
	const char *log_id = json_text(c->json, "log_id");
	int64_t skip = 0, take = 1;
	int code = batch ? seed_page(c, &skip, &take) : 0;

	if (code < 0)
		return code;
	if (given && !json_get(c->json, "task_id"))
		return call_fail(c, E_INVALID, "task_id", "task_id is missing");
	if (!given && !batch && !log_id)
		return call_fail(c, E_INVALID, "log_id", "log_id is missing");
	if (!given && !batch)
		return log_of_id(c, r, log_id);
	s->id = given ? (uint32_t)json_int(c->json, "task_id", 0) : 0;
	if (given)
		code = seed_task(c, r);
	if (code == 0)
		code = seed_begun(c, r, skip, take);
	if (code == 0 && !batch && s->n == 0)
		return call_fail(c, E_NOT_FOUND, "task_id", "this task has not run yet");
	return code;
}

static const char *const columns[] = { "log_id", "instance_id", "machine_id",
	                               "output", "create_time", "update_time" };
enum { LOG_ID, INSTANCE_ID, MACHINE_ID, OUTPUT, CREATED, UPDATED, COLUMNS };

static bool wanted(struct call *c, int column)
{
	const cJSON *list = json_get(c->json, "column"), *v;

	cJSON_ArrayForEach(v, list)
		if (strcmp(v->valuestring, columns[column]) == 0)
			return true;
	return !list;
}

static int columns_check(struct call *c)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, json_get(c->json, "column")) {
		int i = 0;

		while (i < COLUMNS && strcmp(columns[i], v->valuestring) != 0)
			i++;
		if (i == COLUMNS)
			return call_fail(c, E_INVALID, "column", "there is no column '%.40s'",
			                 v->valuestring);
	}
	return 0;
}

static void number_put(struct buf *b, const char *key, const struct inst_key *k)
{
	uint64_t id = (uint64_t)k->task << DATE_BITS | (uint64_t)k->run_date;

	if (id < UINT64_C(1) << 53)
		put_int(b, key, (int64_t)id);
	else
		put_id(b, key, id);
}

/* Everything but the output. */
static void row_begin(struct call *c, const struct seed_log *l)
{
	struct buf *b = &c->details;
	char at[WHEN_TEXT];

	put_open(b, NULL, '{');
	if (wanted(c, LOG_ID))
		number_put(b, columns[LOG_ID], &l->key);
	if (wanted(c, INSTANCE_ID))
		number_put(b, columns[INSTANCE_ID], &l->key);
	if (wanted(c, MACHINE_ID))
		put_int(b, columns[MACHINE_ID], l->broker);
	seed_time(l->begun_us, at);
	if (wanted(c, CREATED))
		put_text(b, columns[CREATED], at);
	seed_time(l->changed_us, at);
	if (wanted(c, UPDATED))
		put_text(b, columns[UPDATED], at);
}

static int logs_done(struct call *c)
{
	if (json_true(c->json, "batch"))
		put_close(&c->details, ']');
	return chin_answer(c, "");
}

int chin_log_query(struct call *c)
{
	if (columns_check(c) < 0)
		return c->err.code;
	if (json_true(c->json, "batch"))
		put_open(&c->details, NULL, '[');
	return seed_outputs(c, row_begin, wanted(c, OUTPUT), logs_done);
}

/* --- actions --------------------------------------------------------------------------------- */

struct actions {
	size_t n;
	int64_t skip, take;
	struct {
		uint64_t id;
		int64_t at_us;
		char actor[140], content[600];
	} rows[SEED_ROWS_MAX];
};

static int action_take(void *ctx, const struct read_action *a)
{
	struct actions *t = ctx;

	if (t->skip > 0) {
		t->skip--;
		return 0;
	}
	if ((int64_t)t->n == t->take)
		return 0;
	t->rows[t->n].id = a->id;
	t->rows[t->n].at_us = a->at_us;
	snprintf(t->rows[t->n].actor, sizeof t->rows[0].actor, "%s", a->actor);
	t->rows[t->n].actor[strcspn(t->rows[t->n].actor, "/")] = '\0';
	snprintf(t->rows[t->n].content, sizeof t->rows[0].content, "%s %s: %s", a->action,
	         a->object, a->detail);
	t->n++;
	return 0;
}

static void actions_put(struct call *c, struct reader *r, const struct actions *t)
{
	struct buf *b = &c->details;
	char at[WHEN_TEXT];

	put_open(b, NULL, '[');
	for (size_t i = 0; i < t->n; i++) {
		int64_t user = chin_user_id(r, t->rows[i].actor);

		put_open(b, NULL, '{');
		put_int(b, "action_id", (int64_t)t->rows[i].id);
		if (user >= 0)
			put_int(b, "user_id", user);
		else
			put_null(b, "user_id");
		put_bytes(b, "content", t->rows[i].content, strlen(t->rows[i].content));
		seed_time(t->rows[i].at_us, at);
		put_text(b, "create_time", at);
		put_text(b, "update_time", at);
		put_close(b, '}');
	}
	put_close(b, ']');
}

/* Newest first. Without pages: the newest of them. */
int chin_action_query_work(struct call *c, struct reader *r)
{
	struct actions *t = mem_new(sizeof *t);
	struct read_answer at = { 0 };
	int code = 0;

	buf_clear(&c->details);
	t->take = SEED_ROWS_MAX;
	if (json_true(c->json, "batch"))
		code = seed_page(c, &t->skip, &t->take);
	if (code < 0)
		goto out;
	do {
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .descending = true,
			                  .answer = &at };

		code = read_actions(r, &(struct read_actions_by){ 0 }, &page, action_take, t,
		                    &c->err);
	} while (code == 0 && (int64_t)t->n < t->take && at.cursor[0] != '\0');
	if (code == 0)
		actions_put(c, r, t);
out:
	free(t);
	return code;
}

/* --- machines -------------------------------------------------------------------------------- */

int chin_machine_delete_work(struct call *c, struct reader *r)
{
	struct seed *s = seed_of(c);

	s->id = (uint32_t)json_int(c->json, "machine_id", 0);
	if (read_doc(r, &(struct read_which){ DOC_BROKER, .id = s->id }, seed_take, s, NULL) < 0 ||
	    !s->found)
		return call_fail(c, E_NOT_FOUND, "machine_id", "there is no machine %u", s->id);
	return 0;
}

/* It gets no more work and is not listed; `sirdar broker undrain` brings it back. */
int chin_machine_delete(struct call *c)
{
	return seed_command_on(c, "broker-drain", "brokers", seed_of(c)->name, chin_done);
}

static void text_time_put(struct buf *b, const char *key, const char *rfc3339)
{
	char at[20];

	snprintf(at, sizeof at, "%.19s", rfc3339 ? rfc3339 : "");
	if (at[0] != '\0')
		at[10] = ' ';
	put_text(b, key, at);
}

static void machine_put(struct buf *b, const cJSON *m)
{
	char ip[80];

	seed_ip(json_text(m, "address"), ip);
	put_open(b, NULL, '{');
	put_int(b, "machine_id", json_int(m, "id", 0));
	put_text(b, "machine_name", json_text(m, "name"));
	put_text(b, "ip", ip);
	put_text(b, "mac", json_text(m, "mac"));
	put_int(b, "cpu_load", json_int(m, "cpu_permille", 0) / 10);
	put_int(b, "memory_load", json_int(m, "memory_permille", 0) / 10);
	put_int(b, "alive", json_true(m, "online"));
	text_time_put(b, "create_time", json_text(m, "since"));
	text_time_put(b, "update_time", json_text(m, "last_heard"));
	put_close(b, '}');
}

static int machines(struct call *c)
{
	int64_t skip = 0, take = 0;
	cJSON *root = NULL;
	const cJSON *m;
	int r;

	if (c->err.code < 0)
		return c->err.code;
	r = seed_page(c, &skip, &take);
	if (r == 0)
		r = json_parse((const char *)buf_at(&c->out), c->out.len, &root, &c->err);
	if (r < 0)
		return r;
	put_open(&c->details, NULL, '[');
	cJSON_ArrayForEach(m, json_get(root, "brokers")) {
		if (json_true(m, "drained") || skip-- > 0 || take-- <= 0)
			continue;
		machine_put(&c->details, m);
	}
	put_close(&c->details, ']');
	json_free(root);
	return chin_answer(c, "");
}

int chin_machine_query(struct call *c)
{
	int64_t skip, take;

	if (seed_page(c, &skip, &take) < 0)
		return c->err.code;
	buf_clear(&c->out);
	c->then = machines;
	return call_query(c, "brokers", "{}");
}
