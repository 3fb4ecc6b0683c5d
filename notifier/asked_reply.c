/* What a client asked is answered: by asked.c at once, or when the test it began has ended. */
#include <stdio.h>
#include <string.h>

#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/sender.h"
#include "notifier/wake.h"
#include "sched/when.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"

void asked_reply(struct notifier *n, struct ask *a, int code, const char *text, struct buf *body)
{
	a->code = code;
	snprintf(a->text, sizeof a->text, "%s", text);
	if (body)
		a->body = mem_str(buf_str(body));
	wake_reply(n->wake, a);
}

void asked_put_try(struct buf *out, int64_t at_us, const char *error)
{
	put_time_us(out, "last_at", at_us);
	if (at_us)
		put_bool(out, "last_ok", !error[0]);
	else
		put_null(out, "last_ok");
	put_text(out, "last_error", error[0] ? error : NULL);
}

static const char *outcome_of(const char *error)
{
	static const struct {
		const char *begin, *outcome;
	} all[] = { { SENDER_REFUSED, "refused" },
		    { SENDER_TIMED_OUT, "timed out" },
		    { SENDER_NO_WAY, "not reached" } };

	for (size_t i = 0; error && i < sizeof all / sizeof all[0]; i++)
		if (strncmp(error, all[i].begin, strlen(all[i].begin)) == 0)
			return all[i].outcome;
	return error ? "failed" : "sent";
}

void asked_tested(void *notifier, struct ask *a, const char *error)
{
	struct notifier *n = notifier;
	struct err ignored = { 0 };
	struct buf out;

	outbox_put_try(n->outbox, a->channel, clock_wall_us(&clock_machine), error ? error : "",
	               &ignored);
	buf_init(&out);
	put_open(&out, NULL, '{');
	put_text(&out, "channel", a->channel);
	put_bool(&out, "taken", !error);
	put_text(&out, "outcome", outcome_of(error));
	put_text(&out, "error", error);
	put_int(&out, "took_ms", (clock_wall_us(&clock_machine) - a->sent_us) / US_PER_MS);
	put_close(&out, '}');
	asked_reply(n, a, 0, "", &out);
	buf_done(&out);
}
