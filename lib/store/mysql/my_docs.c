/* What is written seldom: tasks, links, documents, commands. */

#include <stdio.h>

#include "sched/name.h"
#include "store/mysql/mysql.h"
#include "util/err.h"

static const char *const actions[] = {
	[DOC_WORKFLOW] = "save workflow",
	[DOC_CALENDAR] = "save calendar",
	[DOC_RUNNER] = "save runner",
	[DOC_BROKER] = "save broker",
	[DOC_TYPE] = "save task type",
	[DOC_SERVER] = "save server",
	[DOC_POOL] = "save pool",
	[DOC_SETTING] = "save setting",
	[DOC_NODE] = "save node",
	[DOC_USER] = "save user",
	[DOC_SILENCE] = "save silence",
	[DOC_GROUP] = "save group",
	[DOC_TOKEN] = "save token",
	[DOC_DEVICE] = "save device",
	[DOC_PEER] = "save peer",
	[DOC_TRUST] = "save trust",
	[DOC_EXPOSED] = "save exposed",
	[DOC_CHANNEL] = "save channel",
	[DOC_ONCALL] = "save on-call list",
	[DOC_RULE] = "save rule",
	[DOC_PLAN] = NULL,    /* the edit itself is the action */
	[DOC_DRAFT] = NULL,   /* the test run is */
	[DOC_PREFS] = NULL,   /* nobody else's business */
	[DOC_FACTOR] = NULL,  /* its commands are the actions */
	[DOC_SESSION] = NULL, /* the sign-in, or its end, is the action */
};

static int know_last_action(struct my_store *s, struct err *err)
{
	struct rows *rows = NULL;
	const char *hash = NULL;
	int64_t id = 0;
	int r = my_ask(s, "lb_action", &rows, err,
	               "SELECT id, hash FROM lb_action ORDER BY id DESC LIMIT 1", "");

	if (r < 0)
		return r;
	s->base.audit = (struct audit){ .known = true };
	r = rows_step(rows, err);
	if (r > 0)
		r = rows_int(rows, 0, 1, INT64_MAX, &id, err);
	if (r == 0 && id)
		r = rows_text(rows, 1, &hash, err);
	if (r == 0 && hash) {
		s->base.audit.id = (uint64_t)id;
		snprintf(s->base.audit.hash, sizeof s->base.audit.hash, "%s", hash);
	}
	rows_close(rows);
	return r;
}

static int write_action(struct my_store *s, struct read_action a, struct err *err)
{
	struct my_out o = { s,
		            "INSERT INTO lb_action (id, at_us, actor, action, object, detail, hash)"
		            " VALUES ",
		            "", 0 };
	int r = s->base.audit.known ? 0 : know_last_action(s, err);

	if (r < 0)
		return r;
	audit_next(&s->base.audit, &a);
	r = my_out_put(&o, err, "iittttt", (int64_t)a.id, a.at_us, a.actor, a.action, a.object,
	               a.detail, a.hash);
	return my_out_end(&o, r, err);
}

/* All but the newest so many versions go. */
static int drop_former(struct my_store *s, const struct store_doc *d, int stay, struct err *err)
{
	return my_do(s, err, "DELETE FROM ? WHERE id = ? AND version <= ?", "nii",
	             doc_table(d->kind), (int64_t)d->id, (int64_t)d->version - stay);
}

static int write_doc(struct my_store *s, const struct store_doc *d, struct err *err)
{
	struct buf *b = &s->sql;
	int r;

	if (!doc_table(d->kind))
		return err_set(err, E_INVALID, "document kind %d", (int)d->kind);
	buf_clear(b);
	sql_put(b, my_quote, s->db,
	        "REPLACE INTO ? (id, version, retired, at_us, name, actor, body) VALUES (?, ?, ?, "
	        "?,"
	        " ?, ?, ",
	        "niiiitt", doc_table(d->kind), (int64_t)d->id, (int64_t)d->version,
	        (int64_t)d->retired, d->at_us, d->name, d->actor);
	my_quote(s->db, b, d->body ? d->body : "", d->body ? d->body_len : 0);
	buf_putc(b, ')');
	r = my_run(s, (const char *)buf_at(b), b->len, err);
	bool is_test = d->kind == DOC_WORKFLOW && name_is_test(d->name);
	if (r == 0 && (d->kind == DOC_DRAFT || is_test))
		r = drop_former(s, d, is_test ? 1 : STORE_DRAFTS_MAX, err);
	if (r == 0 && actions[d->kind] && !is_test) /* the test run is the action */
		r = write_action(s, audit_of_doc(d, actions[d->kind]), err);
	return r;
}

static int write_tasks(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_out o = {
		s,
		"REPLACE INTO lb_task (task_id, task_name, task_type, task_cycle, start_date,"
		" end_date, task_status, frozen, workflow_id, version, anchor, online_from,"
		" planned_through, owner, priority, title, workflow_title, zone, grain,"
		" quarantined_us) VALUES ",
		"", 0
	};
	int r = 0;

	for (size_t i = 0; i < b->n_tasks && r == 0; i++) {
		const struct store_task *t = &b->tasks[i];

		r = my_out_put(&o, err, "ittiiiiiiiiiititttii", (int64_t)t->id, t->name, t->type,
		               t->cycle_s, t->start_s, t->end_s, (int64_t)t->state,
		               (int64_t)t->frozen, (int64_t)t->workflow_id, (int64_t)t->version,
		               t->anchor, t->online_from, t->planned_through, t->owner,
		               (int64_t)t->priority, t->title ? t->title : "",
		               t->workflow_title ? t->workflow_title : "", t->zone ? t->zone : "",
		               (int64_t)t->grain, t->quarantined_us);
	}
	return my_out_end(&o, r, err);
}

static int unlink_parents(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_out o = { s, "DELETE FROM lb_task_link WHERE (task_to_id) IN (", ")", 0 };
	int r = 0;

	for (size_t i = 0; i < b->n_links_of && r == 0; i++)
		r = my_out_put(&o, err, "i", (int64_t)b->links_of[i]);
	return my_out_end(&o, r, err);
}

static int write_links(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_out o = { s,
		            "INSERT INTO lb_task_link (task_to_id, seq, task_from_id, depend_type,"
		            " on_end, strategy, strategy_n, `window`) VALUES ",
		            "", 0 };
	int r = unlink_parents(s, b, err);

	for (size_t i = 0; i < b->n_links && r == 0; i++) {
		const struct store_link *l = &b->links[i];

		r = my_out_put(&o, err, "iiiiiiit", (int64_t)l->to, (int64_t)i, (int64_t)l->from,
		               (int64_t)l->depend_type, (int64_t)l->on, (int64_t)l->strategy,
		               (int64_t)l->n, l->window);
	}
	return my_out_end(&o, r, err);
}

static int write_command(struct my_store *s, const struct store_command *c, struct err *err)
{
	struct my_out o = { s,
		            "INSERT INTO lb_command (id, request_id, actor, kind, args, error,"
		            " state, created_us, ended_us, total, done, failed, `cursor`,"
		            " projects) VALUES ",
		            " ON DUPLICATE KEY UPDATE error = VALUES(error), state = VALUES(state),"
		            " ended_us = VALUES(ended_us), total = VALUES(total),"
		            " done = VALUES(done), failed = VALUES(failed),"
		            " `cursor` = VALUES(`cursor`), projects = VALUES(projects)",
		            0 };
	int64_t known = 0;
	int r = my_ask_number(s, "lb_command", &known, err,
	                      "SELECT COUNT(*) FROM lb_command WHERE id = ?", "i", (int64_t)c->id);

	if (r == 0)
		r = my_out_put(&o, err, "itttttiiiiiitt", (int64_t)c->id, c->request_id, c->actor,
		               c->kind, c->args, c->error, (int64_t)c->state, c->created_us,
		               c->ended_us, (int64_t)c->total, (int64_t)c->done, (int64_t)c->failed,
		               c->cursor, c->projects);
	r = my_out_end(&o, r, err);
	if (r == 0 && !known)
		r = write_action(s, audit_of_command(c), err);
	return r;
}

static int write_items(struct my_store *s, const struct store_batch *b, struct err *err)
{
	struct my_out o = { s,
		            "REPLACE INTO lb_command_item (command_id, task_id, curr_run_date,"
		            " part, code, text) VALUES ",
		            "", 0 };
	int r = 0;

	for (size_t i = 0; i < b->n_items && r == 0; i++) {
		const struct store_command_item *it = &b->items[i];

		r = my_out_put(&o, err, "iiiiit", (int64_t)it->command, (int64_t)it->key.task,
		               it->key.run_date, (int64_t)it->key.part, (int64_t)it->code,
		               it->text);
	}
	return my_out_end(&o, r, err);
}

int my_write_docs(struct my_store *s, const struct store_batch *b, struct err *err)
{
	int r = 0;

	s->base.audit.known = false;
	for (size_t i = 0; i < b->n_docs && r == 0; i++)
		r = write_doc(s, &b->docs[i], err);
	if (r == 0)
		r = write_tasks(s, b, err);
	if (r == 0)
		r = write_links(s, b, err);
	for (size_t i = 0; i < b->n_commands && r == 0; i++)
		r = write_command(s, &b->commands[i], err);
	if (r == 0)
		r = write_items(s, b, err);
	return r == 0 ? my_write_alerts(s, b, err) : r;
}
