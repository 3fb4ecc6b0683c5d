/* One walk through the last events of an instance's generation. The kill tells more than its
 * confirmation, so of what was killed the walk goes on to it. */
#include "cgi/server/ended.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "cgi/server/failed.h"
#include "cgi/server/names.h"
#include "sched/when.h"
#include "store/read.h"
#include "util/failure.h"
#include "util/json_in.h"
#include "util/json_put.h"

static void reason_take(struct ended *w, const struct read_event *e)
{
	bool kill = e->event == EV_KILL || e->event == EV_INTENT;

	if (w->is_whole || (w->is_found ? !kill : e->to != w->state || e->from == e->to))
		return;
	w->is_found = true;
	w->is_whole = e->event != EV_DEAD_KILLED;
	if (e->note)
		snprintf(w->note, sizeof w->note, ": %s", e->note);
	if (e->cause != 0)
		w->cause = e->cause;
}

/* A grant that was given back, and a look that found nothing, were no attempts. */
static bool ends_attempt(const struct read_event *e)
{
	return e->from < ST_COUNT && state_holds_slot((enum state)e->from) &&
	       !state_holds_slot((enum state)e->to) && e->event != EV_RETURN && e->event != EV_LOOK;
}

static void attempt_take(struct ended *w, const struct read_event *e)
{
	struct ended_attempt *last = w->n ? &w->attempts[w->n - 1] : NULL;

	if (ends_attempt(e)) {
		w->has_more = w->n == ENDED_ATTEMPTS;
		if (!w->has_more)
			w->attempts[w->n++] = (struct ended_attempt){ .number = e->number,
				                                      .token = e->token,
				                                      .ended_us = e->at_us,
				                                      .broker = e->broker,
				                                      .exit_code = e->exit_code,
				                                      .attempt = e->attempt,
				                                      .event = e->event,
				                                      .reason = e->reason,
				                                      .to = e->to };
	} else if (last && !w->has_more && !last->started_us &&
	           (e->event == EV_STARTED || e->event == EV_GRANT)) {
		last->started_us = e->at_us;
	}
}

static int event_take(void *ctx, const struct read_event *e)
{
	struct ended *w = ctx;

	reason_take(w, e);
	if (e->generation == w->generation)
		attempt_take(w, e);
	return 0;
}

static int command_take(void *ctx, const struct store_command *m)
{
	struct ended *w = ctx;
	struct cJSON *args = NULL;
	const char *message = NULL;

	if (json_parse(m->args, strlen(m->args), &args, NULL) == 0)
		message = json_text(args, "message");
	snprintf(w->actor, sizeof w->actor, "%s", m->actor);
	snprintf(w->kind, sizeof w->kind, "%s", m->kind);
	failure_set_line(w->message, sizeof w->message, message ? message : "",
	                 message ? strlen(message) : 0);
	w->asked_us = m->created_us;
	json_free(args);
	return 0;
}

void ended_read(struct reader *r, const struct instance *i, struct ended *ret)
{
	enum { BACK_MAX = 200 };

	*ret = (struct ended){ .state = i->state, .generation = i->generation };
	read_events(r, &(struct read_history){ i->key, 0, BACK_MAX }, event_take, ret, NULL, NULL);
	if (i->state == ST_STOP && ret->note[0] == '\0' && i->exit_code != 0)
		snprintf(ret->note, sizeof ret->note,
		         i->exit_code < 0 ? ": signal %d" : ": exit %d",
		         i->exit_code < 0 ? -i->exit_code : i->exit_code);
	if (ret->cause != 0)
		read_command(r, NULL, ret->cause, command_take, ret, NULL);
}

static const char *how(const struct instance *i, const struct ended *e)
{
	enum failure_class class = failure_of_reason(i->reason);

	if (i->state == ST_SUCC)
		return i->flags & IF_FORCED     ? "forced"
		       : i->reason == RE_DRYRUN ? "dry_run"
		                                : "succeeded";
	if (i->state == ST_SKIPPED)
		return "skipped";
	if (e->n && e->attempts[0].event == EV_DECLARE)
		return "declared_dead";
	if (i->state == ST_KILLED)
		return i->reason == RE_REPLACED ? "replaced" : "killed";
	if (i->reason == RE_EXPIRED)
		return "expired";
	return class == FC_TIMEOUT ? "timed_out" : class == FC_MACHINE ? "lost" : "failed";
}

static void by_put(struct buf *b, const struct ended *e)
{
	if (!e->actor[0]) {
		put_null(b, "by");
		return;
	}
	put_open(b, "by", '{');
	put_id(b, "command", e->cause);
	put_text(b, "kind", e->kind);
	put_text(b, "actor", e->actor);
	put_text(b, "message", e->message[0] ? e->message : NULL);
	put_time_us(b, "at", e->asked_us);
	put_close(b, '}');
}

static void attempt_put(struct buf *b, struct names *n, struct reader *r, const struct instance *i,
                        const struct ended_attempt *a)
{
	char broker[NAMES_MAX];
	struct instance then = *i;

	put_open(b, NULL, '{');
	put_int(b, "attempt", a->attempt);
	put_time_us(b, "started", a->started_us);
	put_time_us(b, "ended", a->ended_us);
	put_text(b, "state", state_name((enum state)a->to));
	put_text(b, "event", event_name((enum event)a->event));
	put_text(b, "reason", reason_name((enum reason)a->reason));
	put_text(b, "broker",
	         a->broker && names_get(n, NAMES_BROKER, a->broker, broker) ? broker : NULL);
	/* As it was then: of the states that its end had, its digest is one. */
	then.state = a->to == ST_SUCC || a->to == ST_SKIPPED ? a->to : ST_STOP;
	then.reason = a->reason;
	then.exit_code = a->exit_code;
	then.token = a->token;
	then.last_number = a->number;
	then.kept = 0;
	failed_put(b, r, &then, FAILED_SHORT);
	put_close(b, '}');
}

void ended_put(struct buf *b, struct names *n, struct reader *r, const struct instance *i,
               const struct ended *e)
{
	put_open(b, "ended", '{');
	put_text(b, "how", how(i, e));
	put_time_us(b, "at", i->ended_us);
	if (i->started_us && i->ended_us >= i->started_us)
		put_int(b, "took_us", i->ended_us - i->started_us);
	else
		put_null(b, "took_us");
	put_int(b, "attempt", i->attempt);
	put_text(b, "reason", reason_name((enum reason)i->reason));
	put_text(b, "note", e->note[0] ? e->note + strlen(": ") : NULL);
	by_put(b, e);
	put_open(b, "attempts", '[');
	for (size_t k = e->n; k-- > 0;)
		attempt_put(b, n, r, i, &e->attempts[k]);
	put_close(b, ']');
	put_bool(b, "more", e->has_more);
	put_close(b, '}');
}
