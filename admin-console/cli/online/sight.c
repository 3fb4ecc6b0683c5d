/* Looks at what is waited for: the instances of a command, or of lists, in one shape, counted. And
 * whether the rest of it can go on: what waits for instances that ended badly starts only when
 * somebody redoes those, so nobody is kept waiting for it. */
#include "admin-console/cli/online/online.h"
#include "admin-console/cli/online/wait.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/json_in.h"

static bool is_one_of(const char *text, const char *const *words)
{
	while (*words && strcmp(*words, text) != 0)
		words++;
	return *words;
}

static const char *const ends_badly[] = { "StopSchedule", "Killed", NULL };
static const char *const ends_well[] = { "Succ", "Skipped", NULL };
static const char *const has_slot[] = { "Running", "WaitKill", "Killing", NULL };

static void count(struct sight *s)
{
	const cJSON *st;

	s->inside = json_get(s->root, "instances");
	s->total = number_of(s->inside, "total");
	cJSON_ArrayForEach(st, json_get(s->inside, "states")) {
		long long n = (long long)st->valuedouble;
		bool bad = is_one_of(st->string, ends_badly);

		s->bad += bad ? n : 0;
		s->ended += bad || is_one_of(st->string, ends_well) ? n : 0;
		s->running += is_one_of(st->string, has_slot) ? n : 0;
		s->retry += strcmp(st->string, "Failed") == 0 ? n : 0;
		s->hanged += strcmp(st->string, "Hanged") == 0 ? n : 0;
		s->waiting += strcmp(st->string, "Ready") == 0 ||
		                              strcmp(st->string, "DependenceFinish") == 0
		                      ? n
		                      : 0;
	}
	/* What retention has taken is over. */
	long long gone = s->total - s->ended - s->running - s->retry - s->hanged - s->waiting;
	s->ended += gone > 0 ? gone : 0;
}

void sight_done(struct sight *s)
{
	cJSON_Delete(s->root);
	*s = (struct sight){ 0 };
}

static int ask_quietly(struct online *o, const char *path, cJSON **ret)
{
	bool quiet = o->quiet;

	o->quiet = true;
	int code = online_call(o, "GET", path, NULL, ret);
	o->quiet = quiet;
	return code;
}

int sight_of_command(struct online *o, const char *id, const char *since, struct sight *ret)
{
	struct buf path;

	*ret = (struct sight){ 0 };
	buf_init(&path);
	buf_puts(&path, "/api/v1/commands/");
	path_part(&path, id);
	buf_puts(&path, "/instances");
	path_arg(&path, "since", since);
	int code = ask_quietly(o, buf_str(&path), &ret->root);
	buf_done(&path);
	if (code != CLI_OK)
		return code;
	ret->is_whole = command_is_over(ret->root);
	count(ret);
	if (!command_makes_run(ret->root)) { /* that it was done is all that is waited for */
		ret->ended = ret->total;
		ret->bad = ret->hanged = 0;
	}
	return CLI_OK;
}

/* --- lists ---------------------------------------------------------------------------------- */

static void count_up(cJSON *o, const char *key)
{
	cJSON *n = cJSON_GetObjectItemCaseSensitive(o, key);

	if (n)
		cJSON_SetNumberHelper(n, n->valuedouble + 1);
	else
		cJSON_AddNumberToObject(o, key, 1);
}

static void task_add(cJSON *tasks, const cJSON *item)
{
	const cJSON *t;
	double id = (double)number_of(item, "task_id");

	cJSON_ArrayForEach(t, tasks)
		if (t->valuedouble == id)
			return;
	cJSON_AddItemToArray(tasks, cJSON_CreateNumber(id));
}

static void item_add(cJSON *inside, cJSON *item)
{
	const char *state = text_of(item, "state");
	bool bad = is_one_of(state, ends_badly), over = bad || is_one_of(state, ends_well);

	count_up(cJSON_GetObjectItemCaseSensitive(inside, "states"), state);
	count_up(inside, "total");
	if (!over)
		task_add(cJSON_GetObjectItemCaseSensitive(inside, "tasks"), item);
	if (!over || bad)
		cJSON_AddItemToArray(
			cJSON_GetObjectItemCaseSensitive(inside, over ? "ended" : "unfinished"),
			cJSON_Duplicate(item, true));
}

#define ONE "/api/v1/instances/" /* one, not a list */

static int page_take(struct online *o, const char *path, const char *cursor, cJSON *inside,
                     char **ret_cursor)
{
	struct buf page;
	cJSON *root = NULL, *i;

	buf_init(&page);
	buf_puts(&page, path);
	if (strncmp(path, ONE, strlen(ONE)) != 0)
		path_arg(&page, "limit", "500");
	path_arg(&page, "cursor", cursor);
	int code = ask_quietly(o, buf_str(&page), &root);
	buf_done(&page);
	if (code != CLI_OK)
		return code;
	if (json_get(root, "id")) /* one, not a list */
		item_add(inside, root);
	const char *next = json_text(root, "cursor");
	*ret_cursor = next ? mem_str(next) : NULL;
	cJSON_ArrayForEach(i, json_get(root, "items"))
		item_add(inside, i);
	/* The first page's: what changes while the others are read is told again. */
	if (!json_get(inside, "number") && json_get(root, "number"))
		cJSON_AddStringToObject(inside, "number", text_of(root, "number"));
	cJSON_Delete(root);
	return CLI_OK;
}

int sight_of_lists(struct online *o, char *const *paths, size_t n, struct sight *ret)
{
	int code = CLI_OK;

	*ret = (struct sight){ .root = cJSON_CreateObject(), .is_whole = true };
	cJSON *inside = cJSON_AddObjectToObject(ret->root, "instances");
	cJSON_AddObjectToObject(inside, "states");
	cJSON_AddArrayToObject(inside, "tasks");
	cJSON_AddArrayToObject(inside, "unfinished");
	cJSON_AddArrayToObject(inside, "ended");
	for (size_t i = 0; i < n && code == CLI_OK; i++) {
		char *cursor = NULL;
		do {
			char *from = cursor;
			cursor = NULL;
			code = page_take(o, paths[i], from, inside, &cursor);
			free(from);
		} while (cursor && code == CLI_OK);
		free(cursor);
	}
	if (code != CLI_OK)
		sight_done(ret);
	else
		count(ret);
	return code;
}

/* --- what cannot go on ---------------------------------------------------------------------- */

static bool is_unfinished(const struct sight *s, const char *id)
{
	const cJSON *i;

	cJSON_ArrayForEach(i, json_get(s->inside, "unfinished"))
		if (strcmp(text_of(i, "id"), id) == 0)
			return true;
	return false;
}

/* It waits for others, and none of them is on its way: each has ended, or stands here itself. */
static bool waits_in_vain(const struct sight *s, const cJSON *why)
{
	const cJSON *p;

	long long gate = number_of(why, "gate");
	bool turn = gate == 5 && cJSON_GetArraySize(json_get(why, "waits_for")) > 0;

	if (gate != 4 && !turn)
		return false;
	cJSON_ArrayForEach(p, json_get(why, "waits_for")) {
		const char *state = text_of(p, "state");
		if (!is_one_of(state, ends_badly) && !is_one_of(state, ends_well) &&
		    strcmp(state, "Hanged") != 0 && !is_unfinished(s, text_of(p, "id")))
			return false;
	}
	return true;
}

bool sight_is_stuck(struct online *o, const struct sight *s)
{
	const cJSON *i;
	bool stuck = s->bad + s->hanged > 0 && s->running + s->retry == 0;

	cJSON_ArrayForEach(i, json_get(s->inside, "unfinished")) {
		cJSON *why = NULL;

		if (!stuck)
			break;
		if (strcmp(text_of(i, "state"), "Hanged") == 0)
			continue;
		char *path = mem_fmt("/api/v1/instances/%s/why", text_of(i, "id"));
		stuck = strcmp(text_of(i, "state"), "Ready") == 0 &&
		        ask_quietly(o, path, &why) == CLI_OK && waits_in_vain(s, why);
		cJSON_Delete(why);
		free(path);
	}
	return stuck;
}
