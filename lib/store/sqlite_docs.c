/* What is written seldom: tasks, links, documents, commands. */
#include <inttypes.h>
#include <stdio.h>

#include "sched/name.h"
#include "store/sqlite.h"
#include "util/err.h"

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

static const struct {
	enum sql_id save;
	const char *action;
} docs[] = {
	[DOC_WORKFLOW] = { SQL_SAVE_WORKFLOW, "save workflow" },
	[DOC_CALENDAR] = { SQL_SAVE_CALENDAR, "save calendar" },
	[DOC_RUNNER] = { SQL_SAVE_RUNNER, "save runner" },
	[DOC_BROKER] = { SQL_SAVE_BROKER, "save broker" },
	[DOC_TYPE] = { SQL_SAVE_TYPE, "save task type" },
	[DOC_SERVER] = { SQL_SAVE_SERVER, "save server" },
	[DOC_POOL] = { SQL_SAVE_POOL, "save pool" },
	[DOC_SETTING] = { SQL_SAVE_SETTING, "save setting" },
	[DOC_NODE] = { SQL_SAVE_NODE, "save node" },
	[DOC_PLAN] = { SQL_SAVE_PLAN, NULL }, /* the edit itself is the action */
	[DOC_USER] = { SQL_SAVE_USER, "save user" },
	[DOC_SILENCE] = { SQL_SAVE_SILENCE, "save silence" },
	[DOC_GROUP] = { SQL_SAVE_GROUP, "save group" },
	[DOC_TOKEN] = { SQL_SAVE_TOKEN, "save token" },
	[DOC_DRAFT] = { SQL_SAVE_DRAFT, NULL }, /* the test run is the action */
	[DOC_DEVICE] = { SQL_SAVE_DEVICE, "save device" },
	[DOC_PREFS] = { SQL_SAVE_PREFS, NULL },     /* nobody else's business */
	[DOC_SESSION] = { SQL_SAVE_SESSION, NULL }, /* the sign-in, or its end, is the action */
	[DOC_PEER] = { SQL_SAVE_PEER, "save peer" },
	[DOC_TRUST] = { SQL_SAVE_TRUST, "save trust" },
	[DOC_EXPOSED] = { SQL_SAVE_EXPOSED, "save exposed" },
	[DOC_FACTOR] = { SQL_SAVE_FACTOR, NULL }, /* its commands are the actions */
	[DOC_CHANNEL] = { SQL_SAVE_CHANNEL, "save channel" },
	[DOC_ONCALL] = { SQL_SAVE_ONCALL, "save on-call list" },
	[DOC_RULE] = { SQL_SAVE_RULE, "save rule" },
};

static int know_last_action(struct sqlite_store *s, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_LAST_ACTION, &q, err);

	if (r < 0)
		return r;
	s->base.audit = (struct audit){ .known = true };
	r = sql_step(s->db, q, err);
	if (r > 0) {
		s->base.audit.id = (uint64_t)sqlite3_column_int64(q, 0);
		snprintf(s->base.audit.hash, sizeof s->base.audit.hash, "%s",
		         text_or_empty((const char *)sqlite3_column_text(q, 1)));
		sqlite3_reset(q);
	}
	return r < 0 ? r : 0;
}

static int write_action(struct sqlite_store *s, struct read_action a, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = s->base.audit.known ? 0 : know_last_action(s, err);

	if (r == 0)
		r = sql_get(s, SQL_ACTION, &q, err);
	if (r < 0)
		return r;
	audit_next(&s->base.audit, &a);
	sql_bind(q, "iittttt", (int64_t)a.id, a.at_us, a.actor, a.action, a.object, a.detail,
	         a.hash);
	return sql_run(s, q, err);
}

/* All but the newest so many versions go. */
static int drop_former(struct sqlite_store *s, enum sql_id which, const struct store_doc *d,
                       int stay, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, which, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "ii", (int64_t)d->id, (int64_t)d->version - stay);
	return sql_run(s, q, err);
}

static int write_doc(struct sqlite_store *s, const struct store_doc *d, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r;

	if (d->kind < DOC_WORKFLOW || d->kind >= DOC_END)
		return err_set(err, E_INVALID, "document kind %d", (int)d->kind);
	r = sql_get(s, docs[d->kind].save, &q, err);
	if (r < 0)
		return r;
	sql_bind(q, "iititi", (int64_t)d->id, (int64_t)d->version, text_or_empty(d->name),
	         (int64_t)d->retired, text_or_empty(d->actor), d->at_us);
	sqlite3_bind_text64(q, 7, d->body ? d->body : "", d->body ? d->body_len : 0, SQLITE_STATIC,
	                    SQLITE_UTF8);
	r = sql_run(s, q, err);
	bool is_test = d->kind == DOC_WORKFLOW && name_is_test(text_or_empty(d->name));
	if (r == 0 && d->kind == DOC_DRAFT)
		r = drop_former(s, SQL_DRAFTS_GO, d, STORE_DRAFTS_MAX, err);
	if (r == 0 && is_test)
		r = drop_former(s, SQL_TESTS_GO, d, 1, err);
	if (r == 0 && docs[d->kind].action && !is_test) /* the test run is the action */
		r = write_action(s, audit_of_doc(d, docs[d->kind].action), err);
	return r;
}

static int write_task(struct sqlite_store *s, const struct store_task *t, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_TASK, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "ittiiiiiiiiiititttii", (int64_t)t->id, text_or_empty(t->name),
	         text_or_empty(t->type), t->cycle_s, t->start_s, t->end_s, (int64_t)t->state,
	         (int64_t)t->frozen, (int64_t)t->workflow_id, (int64_t)t->version, t->anchor,
	         t->online_from, t->planned_through, text_or_empty(t->owner), (int64_t)t->priority,
	         text_or_empty(t->title), text_or_empty(t->workflow_title), text_or_empty(t->zone),
	         (int64_t)t->grain, t->quarantined_us);
	return sql_run(s, q, err);
}

static int write_links(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_UNLINK, &q, err);

	for (size_t i = 0; i < b->n_links_of && r == 0; i++) {
		sql_bind(q, "i", (int64_t)b->links_of[i]);
		r = sql_run(s, q, err);
	}
	if (r == 0)
		r = sql_get(s, SQL_LINK, &q, err);
	for (size_t i = 0; i < b->n_links && r == 0; i++) {
		const struct store_link *l = &b->links[i];

		sql_bind(q, "iiiitiii", (int64_t)l->to, (int64_t)i, (int64_t)l->from,
		         (int64_t)l->depend_type, l->window, (int64_t)l->on, (int64_t)l->strategy,
		         (int64_t)l->n);
		r = sql_run(s, q, err);
	}
	return r;
}

static int write_command(struct sqlite_store *s, const struct store_command *c, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int known, r = sql_get(s, SQL_COMMAND_KNOWN, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "i", (int64_t)c->id);
	known = sql_step(s->db, q, err);
	sqlite3_reset(q);
	if (known < 0)
		return known;
	r = sql_get(s, SQL_COMMAND, &q, err);
	if (r < 0)
		return r;
	sql_bind(q, "itttttiiiiiitt", (int64_t)c->id, text_or_empty(c->request_id),
	         text_or_empty(c->actor), text_or_empty(c->kind), text_or_empty(c->args),
	         text_or_empty(c->error), (int64_t)c->state, c->created_us, c->ended_us,
	         (int64_t)c->total, (int64_t)c->done, (int64_t)c->failed, text_or_empty(c->cursor),
	         text_or_empty(c->projects));
	r = sql_run(s, q, err);
	if (r == 0 && !known)
		r = write_action(s, audit_of_command(c), err);
	return r;
}

static int write_item(struct sqlite_store *s, const struct store_command_item *i, struct err *err)
{
	sqlite3_stmt *q = NULL;
	int r = sql_get(s, SQL_ITEM, &q, err);

	if (r < 0)
		return r;
	sql_bind(q, "iiiiit", (int64_t)i->command, (int64_t)i->key.task, i->key.run_date,
	         (int64_t)i->key.part, (int64_t)i->code, text_or_empty(i->text));
	return sql_run(s, q, err);
}

int sqlite_write_docs(struct sqlite_store *s, const struct store_batch *b, struct err *err)
{
	int r = 0;

	s->base.audit.known = false;
	for (size_t i = 0; i < b->n_docs && r == 0; i++)
		r = write_doc(s, &b->docs[i], err);
	for (size_t i = 0; i < b->n_tasks && r == 0; i++)
		r = write_task(s, &b->tasks[i], err);
	if (r == 0 && (b->n_links_of || b->n_links))
		r = write_links(s, b, err);
	for (size_t i = 0; i < b->n_commands && r == 0; i++)
		r = write_command(s, &b->commands[i], err);
	for (size_t i = 0; i < b->n_items && r == 0; i++)
		r = write_item(s, &b->items[i], err);
	return r == 0 ? sqlite_write_alerts(s, b, err) : r;
}
