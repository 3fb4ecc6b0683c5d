/* The newest failure of an instance says what the instance has come to; its older ones of the same
 * cause are counted as failures and not as instances. */
#include "cgi/server/causes.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/read.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/json_in.h"

const char *const cause_now_names[CAUSE_NOWS] = { "failed", "well", "under_way" };

enum cause_now cause_now(enum state now)
{
	if (now == ST_NONE)
		return CAUSE_UNDER_WAY;
	return now == ST_SUCC || now == ST_SKIPPED ? CAUSE_WELL : CAUSE_FAILED;
}

/* The store's words were cleaned by the server; they are bounded here once more. */
static void text_take(char *to, size_t bytes, const cJSON *root, const char *key)
{
	const char *text = json_text(root, key);

	if (text)
		failure_set_line(to, bytes, text, strlen(text));
}

void cause_of(const struct read_failed *f, struct failure *ret_shown, struct failure_cause *ret)
{
	cJSON *root = NULL;

	failure_guess(f->e.reason, f->e.exit_code, ret_shown);
	if (f->body && json_parse(f->body, strlen(f->body), &root, NULL) == 0) {
		const char *name = json_text(root, "class");
		int class = name ? failure_from_name(name) : -1;

		ret_shown->class = class < 0 ? ret_shown->class : (uint8_t) class;
		text_take(ret_shown->exit, sizeof ret_shown->exit, root, "exit");
		text_take(ret_shown->line, sizeof ret_shown->line, root, "line");
	}
	json_free(root);
	failure_fold(failure_name(ret_shown->class), ret_shown->line, ret_shown->exit, ret);
}

void causes_init(struct causes *c, int64_t from_us, int64_t to_us)
{
	CHECK(from_us <= to_us);
	*c = (struct causes){ .from_us = from_us, .to_us = to_us };
	map_init(&c->by_id);
	map_init(&c->pairs);
}

void causes_done(struct causes *c)
{
	map_done(&c->by_id);
	map_done(&c->pairs);
	free(c->list);
	c->list = NULL;
}

/* NULL: there are too many already. */
static struct cause *cause_find(struct causes *c, const struct failure_cause *is)
{
	uint64_t key = map_text(is->id);
	size_t at;

	for (uint32_t i = map_first(&c->by_id, key, &at); i != MAP_NONE;
	     i = map_next(&c->by_id, key, &at))
		if (strcmp(c->list[i].is.id, is->id) == 0)
			return &c->list[i];
	if (c->n == CAUSES_MAX)
		return NULL;
	c->list = mem_room(c->list, &c->cap, c->n + 1, sizeof *c->list);
	map_add(&c->by_id, key, (uint32_t)c->n);
	c->list[c->n] = (struct cause){ .is = *is };
	return &c->list[c->n++];
}

/* True the first time. */
static bool pair_is_new(struct causes *c, uint64_t of, uint64_t what)
{
	uint64_t key = map_mix(what, of);

	if (map_get(&c->pairs, key) != MAP_NONE)
		return false;
	map_add(&c->pairs, key, 0);
	return true;
}

static void hour_count(const struct causes *c, struct cause *to, int64_t at_us)
{
	int64_t span = c->to_us - c->from_us + 1, at = at_us - c->from_us;

	if (at >= 0 && at < span)
		to->hours[at / (span / CAUSE_HOURS + 1)]++;
}

void causes_add(struct causes *c, const struct read_failed *f)
{
	const struct inst_key *key = &f->e.key;
	uint64_t instance = map_mix(key->task, (uint64_t)key->run_date);
	enum cause_now now = cause_now(f->now);
	struct failure_cause is;
	struct failure shown;

	c->failures++;
	c->instances[now] += pair_is_new(c, 0, instance);
	cause_of(f, &shown, &is);
	struct cause *to = cause_find(c, &is);
	if (!to) {
		c->others++;
		return;
	}
	uint64_t place = (uint64_t)(to - c->list);
	if (to->failures++ == 0) {
		to->class = shown.class;
		to->latest = *key;
		to->last_us = f->e.at_us;
		memcpy(to->sample, shown.line, sizeof to->sample);
		memcpy(to->exit, shown.exit, sizeof to->exit);
	}
	to->first_us = f->e.at_us;
	hour_count(c, to, f->e.at_us);
	to->instances[now] += pair_is_new(c, 2 * place + 1, instance);
	if (pair_is_new(c, 2 * place + 2, key->task) && to->n_tasks++ < CAUSE_TASKS)
		to->tasks[to->n_tasks - 1] = key->task;
}

static uint32_t all_of(const struct cause *c)
{
	return c->instances[CAUSE_FAILED] + c->instances[CAUSE_WELL] +
	       c->instances[CAUSE_UNDER_WAY];
}

static int most_first(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;
	uint32_t bad = x->instances[CAUSE_FAILED], worse = y->instances[CAUSE_FAILED];

	if (bad != worse)
		return bad > worse ? -1 : 1;
	if (all_of(x) != all_of(y))
		return all_of(x) > all_of(y) ? -1 : 1;
	if (x->last_us != y->last_us)
		return x->last_us > y->last_us ? -1 : 1;
	return strcmp(x->is.id, y->is.id);
}

void causes_sort(struct causes *c)
{
	if (c->n)
		qsort(c->list, c->n, sizeof *c->list, most_first);
}
