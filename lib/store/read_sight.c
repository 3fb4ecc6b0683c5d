/* What a reader shows of the store while it reads for somebody who sees some projects only.
 *
 * * Every query of a reader says here, as a condition, which of its rows that person sees; so
 * pages are full, cursors hold and sums are sums of what is seen. A table that holds nothing of a
 * project (calendars, machines, types, pools) is everybody's. What is of a project, and does not
 * say whose, is nobody's but of who sees all. With r->sight NULL a condition is nothing. */
#include <stdlib.h>

#include "store/read_impl.h"
#include "util/alloc.h"
#include "util/check.h"

const struct read_sight *reader_see(struct reader *r, const struct read_sight *s)
{
	const struct read_sight *was = r->sight;

	CHECK(!s || s->n == 0 || s->projects);
	r->sight = s;
	return was;
}

/* What begins with one of the projects and a slash: from "a/" up to "a0": '0' comes after '/'. */
void read__see_names(struct reader *r, struct buf *q, const char *column)
{
	const struct read_sight *s = r->sight;

	if (!s)
		return;
	buf_puts(q, " AND (0");
	for (size_t i = 0; i < s->n; i++) {
		char *from = mem_fmt("%s/", s->projects[i]), *to = mem_fmt("%s0", s->projects[i]);
		read__put(r, q, " OR (? >= ? AND ? < ?)", "ntnt", column, from, column, to);
		free(from);
		free(to);
	}
	buf_puts(q, ")");
}

void read__see_tasks(struct reader *r, struct buf *q, const char *column)
{
	if (!r->sight)
		return;
	read__put(r, q, " AND ? IN (SELECT task_id FROM lb_task WHERE 1", "n", column);
	read__see_names(r, q, "task_name");
	buf_puts(q, ")");
}

/* An id of a task that is not seen is 0. */
void read__see_end(struct reader *r, struct buf *q, const char *column)
{
	if (!r->sight) {
		buf_puts(q, column);
		return;
	}
	buf_puts(q, "CASE WHEN 1");
	read__see_tasks(r, q, column);
	read__put(r, q, " THEN ? ELSE 0 END", "n", column);
}

/* One's own, by whichever of one's tokens. */
static void see_own(struct reader *r, struct buf *q)
{
	const char *person = r->sight->person;

	if (!person || !*person) {
		buf_puts(q, "0");
		return;
	}
	char *from = mem_fmt("%s/", person), *to = mem_fmt("%s0", person);
	read__put(r, q, "(actor = ? OR (actor >= ? AND actor < ?))", "ttt", person, from, to);
	free(from);
	free(to);
}

/* One's own, and those that touch projects, all of which are seen: nothing of the list is left when
 * these are taken off it. */
static void see_command(struct reader *r, struct buf *q)
{
	see_own(r, q);
	buf_puts(q, " OR (projects <> '' AND ");
	for (size_t i = 0; i < r->sight->n; i++)
		buf_puts(q, "replace(");
	buf_puts(q, "projects");
	for (size_t i = 0; i < r->sight->n; i++) {
		char *one = mem_fmt(":%s:", r->sight->projects[i]);
		read__put(r, q, ", ?, '')", "t", one);
		free(one);
	}
	buf_puts(q, " = '')");
}

void read__see_commands(struct reader *r, struct buf *q)
{
	if (!r->sight)
		return;
	buf_puts(q, " AND (");
	see_command(r, q);
	buf_puts(q, ")");
}

void read__see_items(struct reader *r, struct buf *q)
{
	if (!r->sight)
		return;
	buf_puts(q, " AND command_id IN (SELECT id FROM lb_command WHERE ");
	see_command(r, q);
	buf_puts(q, ")");
	read__see_tasks(r, q, "task_id");
}

/* Of a command its request's id is the object, of a saved document its name. */
void read__see_actions(struct reader *r, struct buf *q)
{
	if (!r->sight)
		return;
	buf_puts(q, " AND (");
	see_own(r, q);
	buf_puts(q, " OR object IN (SELECT request_id FROM lb_command WHERE ");
	see_command(r, q);
	buf_puts(q, ") OR (action = 'save workflow'");
	read__see_names(r, q, "object");
	buf_puts(q, "))");
}

enum seen { SEEN_NEVER, SEEN_BY_ALL, SEEN_BY_NAME, SEEN_AS_SCOPE, SEEN_BY_BODY };

/* Documents of people and machines that are in no row are for who sees all. */
static const unsigned char docs[DOC_END] = {
	[DOC_WORKFLOW] = SEEN_BY_NAME, [DOC_DRAFT] = SEEN_BY_NAME,    [DOC_CALENDAR] = SEEN_BY_ALL,
	[DOC_RUNNER] = SEEN_BY_ALL,    [DOC_BROKER] = SEEN_BY_ALL,    [DOC_TYPE] = SEEN_BY_ALL,
	[DOC_POOL] = SEEN_BY_ALL,      [DOC_SERVER] = SEEN_BY_BODY,   [DOC_SILENCE] = SEEN_BY_BODY,
	[DOC_DEVICE] = SEEN_BY_BODY,   [DOC_PREFS] = SEEN_BY_BODY,    [DOC_FACTOR] = SEEN_BY_BODY,
	[DOC_USER] = SEEN_BY_BODY,     [DOC_SETTING] = SEEN_AS_SCOPE, [DOC_CHANNEL] = SEEN_BY_BODY,
	[DOC_ONCALL] = SEEN_BY_BODY,   [DOC_RULE] = SEEN_BY_BODY,
};

/* Parameters of all are everybody's; those of a project are in "parameters/PROJECT". */
static void see_scopes(struct reader *r, struct buf *q)
{
	buf_puts(q, " AND name IN ('parameters'");
	for (size_t i = 0; i < r->sight->n; i++) {
		char *one = mem_fmt("parameters/%s", r->sight->projects[i]);
		read__put(r, q, ", ?", "t", one);
		free(one);
	}
	buf_puts(q, ")");
}

/* A list without bodies has none of those that only their bodies tell of. */
void read__see_docs(struct reader *r, struct buf *q, enum store_doc_kind kind, bool has_body)
{
	enum seen how = r->sight ? (enum seen)docs[kind] : SEEN_BY_ALL;

	if (how == SEEN_NEVER || (how == SEEN_BY_BODY && !has_body))
		buf_puts(q, " AND 0");
	else if (how == SEEN_BY_NAME)
		read__see_names(r, q, "name");
	else if (how == SEEN_AS_SCOPE)
		see_scopes(r, q);
}

bool read__sees_doc(const struct reader *r, const struct store_doc *d)
{
	const struct read_sight *s = r->sight;

	return !s || docs[d->kind] != SEEN_BY_BODY || (s->sees && s->sees(s, d));
}
