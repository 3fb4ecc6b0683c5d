/* ECTS's pipelines and tasks as its own JSON (ects-pipelines.txt). Tasks are those of the library
 * `tasks` of the project, and those that stand in one pipeline. Times are UTC.
 *
 * One object is picked out of the list by its id, so a list and a GET of one cannot differ. Nothing
 * is changed here (ects_change.c). */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/seeds/ects.h"
#include "cgi/seeds/seed.h"
#include "sched/ects.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/alloc.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/json_put.h"
#include "util/yaml.h"

#define PIPELINES_MAX 10000

int ects_answer(struct call *c)
{
	if (c->err.code < 0)
		return c->err.code;
	buf_clear(&c->out);
	buf_put(&c->out, buf_str(&c->details), c->details.len);
	buf_clear(&c->details);
	return reply_json(c, MHD_HTTP_OK);
}

static int doc_take(void *ctx, const struct store_doc *s)
{
	struct ects_names *l = ctx;
	size_t n = strlen(l->project);

	if (strncmp(s->name, l->project, n) != 0 || s->name[n] != '/')
		return 0;
	if (l->n == PIPELINES_MAX)
		return E_LIMIT;
	l->items = mem_room(l->items, &l->cap, l->n + 1, sizeof *l->items);
	snprintf(l->items[l->n].name, NAMES_MAX, "%s", s->name);
	l->items[l->n++].id = s->id;
	return 0;
}

int ects_names(struct reader *r, struct ects_names *l, struct err *err)
{
	struct read_answer at = { 0 };
	int code;

	do {
		struct read_page page = { .limit = READ_ROWS_MAX,
			                  .cursor = at.cursor,
			                  .answer = &at };

		code = read_docs(r, &(struct read_docs_of){ DOC_WORKFLOW }, &page, doc_take, l,
		                 err);
	} while (code == 0 && at.cursor[0] != '\0');
	return code;
}

static int library_take(void *ctx, const struct store_doc *s)
{
	if (!s->retired)
		*(uint32_t *)ctx = s->id;
	return 0;
}

int ects_library(struct call *c, struct reader *r, struct def *d)
{
	char name[NAMES_MAX];
	uint32_t id = 0;
	int code;

	*d = (struct def){ 0 };
	snprintf(name, sizeof name, "%s/" ECTS_LIBRARY, seed_project(c));
	code = read_doc(r, &(struct read_which){ DOC_WORKFLOW, .name = name }, library_take, &id,
	                &c->err);
	if (code == E_NOT_FOUND)
		c->err = (struct err){ 0 };
	if (code < 0 || id == 0)
		return code == E_NOT_FOUND ? 0 : code;
	code = def_read(r, name, id, d, &c->err);
	if (d->workflow && !yaml_get(d->workflow, "library"))
		d->workflow = NULL;
	return code;
}

struct listing {
	struct call *c;
	struct reader *r;
	const char *project, *id; /* "": all */
	bool tasks;
	char created[WHEN_TEXT], updated[WHEN_TEXT];
};

static void times_of(struct listing *l, const struct def *d)
{
	seed_time(d->created_us, l->created);
	seed_time(d->changed_us, l->updated);
}

static int put_shared(struct listing *l)
{
	struct def d;
	int code = ects_library(l->c, l->r, &d);

	times_of(l, &d);
	for (unsigned i = 0; code == 0 && ects_task_print(d.workflow, l->project, i, l->created,
	                                                  l->updated, &l->c->details);)
		i++;
	def_done(&d);
	return code;
}

static int put_document(struct listing *l, const char *name, uint32_t id)
{
	struct def d = { 0 };
	int code = def_read(l->r, name, id, &d, &l->c->err);

	times_of(l, &d);
	if (code == 0 && d.workflow && yaml_get(d.workflow, "pipeline"))
		(l->tasks ? ects_own_tasks_print : ects_pipeline_print)(
			d.workflow, l->project, l->created, l->updated, &l->c->details);
	def_done(&d);
	return code;
}

/* The one of the list in c->details, in its place. */
static int list_pick(struct call *c, const char *id)
{
	cJSON *list = NULL;
	const cJSON *m;
	char *text = NULL;

	if (json_parse(buf_str(&c->details), c->details.len, &list, &c->err) < 0)
		return c->err.code;
	buf_clear(&c->details);
	cJSON_ArrayForEach(m, list) {
		const char *is = json_text(m, "id");

		if (!text && is && strcmp(is, id) == 0)
			text = cJSON_PrintUnformatted(m);
	}
	buf_puts(&c->details, text ? text : "");
	json_free(list);
	if (!text)
		return call_fail(c, E_NOT_FOUND, "path", "there is nothing of the id '%.100s'", id);
	free(text);
	return 0;
}

int ects_list_work(struct call *c, struct reader *r)
{
	struct ects_names names = { .project = seed_project(c) };
	struct listing l = {
		c,  r, names.project, c->params[0], strncmp(c->route->path, "/ects/tasks", 11) == 0,
		"", ""
	};
	int code = ects_names(r, &names, &c->err);

	buf_clear(&c->details);
	put_open(&c->details, NULL, '[');
	if (code == 0 && l.tasks)
		code = put_shared(&l);
	for (size_t i = 0; code == 0 && i < names.n; i++)
		code = put_document(&l, names.items[i].name, names.items[i].id);
	put_close(&c->details, ']');
	free(names.items);
	if (code == 0 && l.id[0] != '\0')
		code = list_pick(c, l.id);
	if (code < 0)
		buf_clear(&c->details);
	return code;
}
