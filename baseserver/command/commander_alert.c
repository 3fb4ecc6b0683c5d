/* What the notifier told people of: kept in the store, with who acknowledged it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/command/commander_impl.h"
#include "baseserver/ledger/ledger.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"

enum { NOTE_MAX = 1000, WORD_MAX = 40, SUBJECT_MAX = 500, BODY_MAX = 60000, REPORTS_MAX = 500 };

/* --- those that are open ------------------------------------------------------------- */

static size_t place_of(const struct commander *c, uint64_t id)
{
	size_t lo = 0, hi = c->n_alerts;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (c->alerts[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct open_alert *alert_find(const struct commander *c, uint64_t id)
{
	size_t at = place_of(c, id);

	return at < c->n_alerts && c->alerts[at].id == id ? &c->alerts[at] : NULL;
}

const char *alert__subject(const struct commander *c, uint64_t id)
{
	const struct open_alert *a = alert_find(c, id);

	return a ? a->subject : NULL;
}

static void alert_learn(struct commander *c, const struct store_alert *a)
{
	size_t at = place_of(c, a->id);
	bool is = at < c->n_alerts && c->alerts[at].id == a->id;

	if (!a->ended_us == is)
		return;
	if (is) {
		free(c->alerts[at].subject);
		CHECK(c->n_alerts > 0);
		c->n_alerts--;
		memmove(&c->alerts[at], &c->alerts[at + 1], (c->n_alerts - at) * sizeof *c->alerts);
		return;
	}
	c->alerts = mem_room(c->alerts, &c->alerts_cap, c->n_alerts + 1, sizeof *c->alerts);
	memmove(&c->alerts[at + 1], &c->alerts[at], (c->n_alerts - at) * sizeof *c->alerts);
	c->alerts[at] = (struct open_alert){ .id = a->id, .subject = mem_str(a->subject) };
	c->n_alerts++;
}

static int each_alert(void *ctx, const struct store_alert *a)
{
	alert_learn(ctx, a);
	return 0;
}

int alerts__load(struct commander *c, struct store *store, struct err *err)
{
	return store_load_alerts(store, each_alert, c, err);
}

void alerts__forget(struct commander *c)
{
	for (size_t i = 0; i < c->n_alerts; i++)
		free(c->alerts[i].subject);
	free(c->alerts);
}

/* --- what the notifier says ---------------------------------------------------------- */

static void stored(struct letter *l, void *self)
{
	struct record *r = (struct record *)l;

	(void)self;
	request_answer(r->ctx, 0, "", NULL, r->number);
	r->ctx = NULL;
	record_free(r);
}

static void record_post(struct commander *c, struct record *r)
{
	r->reply_to = r->ctx ? c->me : NULL;
	r->answered = stored;
	if (ledger_record(c->ledger, r) == 0)
		return;
	client_request_free(r->ctx); /* the process is ending */
	record_free(r);
}

static int read_id(const struct jval *v, const char *key, uint64_t *ret, struct refusal *f)
{
	const char *text = NULL;
	int r = arg_text(v, "args", key, 19, &text, f);

	if (r == 0 && (!text || !*text || text[strspn(text, "0123456789")] ||
	               (*ret = strtoull(text, NULL, 10)) == 0 || *ret > INT64_MAX))
		return refuse(f, E_INVALID, key, "for example \"12\"",
		              "args.%s: a number in quotes is expected, from 1 on", key);
	return r;
}

static int read_report(const struct jval *v, struct store_alert *a, struct refusal *f)
{
	static const char *const keys[] = { "id",       "kind",     "severity",   "subject",
		                            "task",     "run_date", "generation", "attempt",
		                            "since_us", "ended_us", "body",       NULL };
	int64_t task = 0, generation = 0, attempt = 0, severity = 0;
	const char *kind = "", *subject = "", *body = "{}";
	int r = arg_object(v, "args.alerts", keys, f);

	if (r < 0 || (r = read_id(v, "id", &a->id, f)) < 0 ||
	    (r = arg_text(v, "args", "kind", WORD_MAX, &kind, f)) < 0 ||
	    (r = arg_text(v, "args", "subject", SUBJECT_MAX, &subject, f)) < 0 ||
	    (r = arg_text(v, "args", "body", BODY_MAX, &body, f)) < 0 ||
	    (r = arg_number(v, "args", (struct arg_range){ "severity", 0, STORE_SEVERITIES - 1 },
	                    &severity, f)) < 0 ||
	    (r = arg_number(v, "args", (struct arg_range){ "task", 0, UINT32_MAX }, &task, f)) <
	            0 ||
	    (r = arg_number(v, "args", (struct arg_range){ "run_date", INT64_MIN, INT64_MAX },
	                    &a->run_date, f)) < 0 ||
	    (r = arg_number(v, "args", (struct arg_range){ "generation", 0, UINT32_MAX },
	                    &generation, f)) < 0 ||
	    (r = arg_number(v, "args", (struct arg_range){ "attempt", 0, UINT32_MAX }, &attempt,
	                    f)) < 0 ||
	    (r = arg_number(v, "args", (struct arg_range){ "since_us", 0, INT64_MAX }, &a->since_us,
	                    f)) < 0 ||
	    (r = arg_number(v, "args", (struct arg_range){ "ended_us", 0, INT64_MAX }, &a->ended_us,
	                    f)) < 0)
		return r;
	a->task = (uint32_t)task;
	a->generation = (uint32_t)generation;
	a->attempt = (uint32_t)attempt;
	a->severity = (uint8_t)severity;
	a->kind = mem_str(kind);
	a->subject = mem_str(subject);
	a->body = mem_str(body);
	return 0;
}

static int read_reports(const char *args, size_t len, struct record *r, struct refusal *f)
{
	static const char *const keys[] = { "alerts", NULL };
	const struct jval *list = NULL;
	const struct jval *doc = NULL;
	struct err err = { 0 };

	if (jv_parse_args(args, len, &doc, &err) < 0)
		return refuse(f, E_INVALID, "args", NULL, "args: %s", err.text);
	int code = arg_object(doc, "args", keys, f);
	if (code == 0)
		code = arg_list(doc, "args", "alerts", REPORTS_MAX, &list, f);
	if (code == 0 && list)
		r->alerts = mem_array(list->len + 1, sizeof *r->alerts);
	for (const struct jval *v = jv_first(list); code == 0 && v; v = v->next)
		code = read_report(v, &r->alerts[r->n_alerts++], f);
	jv_free(doc);
	return code;
}

static void on_alerts(struct letter *l, void *self)
{
	struct commander *c = self;
	struct client_request *asked = (struct client_request *)l;
	struct record *r = mem_new(sizeof *r);
	struct refusal f = { 0 };

	if (read_reports(asked->args, asked->args_len, r, &f) < 0) {
		log_warn("alerts.refused", "text=\"%s\"", f.text);
		record_free(r);
		request_refuse(asked, &f);
		return;
	}
	for (size_t i = 0; i < r->n_alerts; i++)
		alert_learn(c, &r->alerts[i]);
	r->ctx = asked;
	record_post(c, r);
}

int commander_alerts(struct commander *c, struct client_request *r)
{
	r->letter.deliver = on_alerts;
	return actor_post(c->me, &r->letter);
}

/* --- alert-ack ------------------------------------------------------------------------- */

int order__parse_alert(struct order *o, struct refusal *f)
{
	o->note = "";
	int r = arg_text(o->args, "args", "note", NOTE_MAX, &o->note, f);
	return r == 0 ? read_id(o->args, "alert", &o->alert, f) : r;
}

int alert__ack(struct commander *c, struct cmd *cmd, struct refusal *f)
{
	const struct open_alert *a = alert_find(c, cmd->o.alert);

	if (!a)
		return refuse(f, E_NOT_FOUND, "args.alert", "sirdar alert list --state open",
		              "args.alert: no alert %" PRIu64 " is open", cmd->o.alert);
	if (a->subject && strchr(a->subject, '/'))
		touch__name(cmd, a->subject);
	if (!within__covers(&cmd->o, a->subject))
		return within__refuse(&cmd->o, "args.alert", a->subject, f);
	struct record *r = mem_new(sizeof *r);
	r->alerts = mem_new(sizeof *r->alerts);
	r->alerts[r->n_alerts++] = (struct store_alert){ .ack = true,
		                                         .id = a->id,
		                                         .acked_us = actor_wall_us(c->me),
		                                         .acked_by = mem_str(cmd->actor),
		                                         .ack_note = mem_str(cmd->o.note) };
	record_post(c, r);
	return 0;
}
