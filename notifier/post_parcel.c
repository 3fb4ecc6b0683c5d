/* The end of one message: what became of its letters, written down and told.
 *
 * A letter leaves the outbox with its answer, in one transaction. When that cannot be written the
 * letter stays, and the next process sends it again (notifier rule 2). This file sends nothing. */
#include <stdlib.h>

#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/post_impl.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"
#include "util/log.h"

void parcel__free(struct parcel *p)
{
	for (size_t i = 0; i < p->n; i++)
		jv_free(p->items[i].json);
	ask_free(p->ask);
	free(p->items);
	free(p->recipient);
	free(p->device);
	free(p->letters);
	free(p);
}

/* min, 2 min, 4 min ... up to max. */
static int64_t pause_us(const struct notifier *n, uint32_t tries)
{
	int64_t ms = n->param.retry_min_ms;

	while (tries-- > 0 && ms < n->param.retry_max_ms)
		ms *= 2;
	return (ms < n->param.retry_max_ms ? ms : n->param.retry_max_ms) * US_PER_MS;
}

static int parcel_settle(struct notifier *n, const struct parcel *p, const char *error,
                         struct err *err)
{
	int64_t now_us = clock_wall_us(&clock_machine);
	int r = outbox_begin(n->outbox, err);

	if (r < 0)
		return r;
	if (p->channel[0])
		r = outbox_put_try(n->outbox, p->channel, now_us, error ? error : "", err);
	for (size_t i = 0; i < p->n && r == 0; i++) {
		const struct item *it = &p->items[i];
		bool over = now_us - it->made_us >= n->param.give_up_ms * US_PER_MS;
		r = outbox_settle(n->outbox, it->id,
		                  &(struct settled){ !error ? LETTER_SENT
		                                     : over ? LETTER_GIVEN_UP
		                                            : LETTER_WAITS,
		                                     now_us, now_us + pause_us(n, it->tries),
		                                     error ? error : "" },
		                  err);
		if (r == 0 && !error)
			r = told_put(n, &it->alert, p->recipient, err);
		if (error && over)
			log_error("alert.given_up", "recipient=%s task=%s event=%s why=\"%s\"",
			          p->recipient, it->alert.task, happening_word(it->alert.what),
			          error);
	}
	return outbox_end(n->outbox, r, err);
}

static void parcel_report(const struct parcel *p, const char *error)
{
	if (error)
		log_warn("alert.unsent", "recipient=%s alerts=%zu tries=%u why=\"%s\"",
		         p->recipient, p->n, p->items[0].tries + 1, error);
	else
		log_info("alert.sent", "recipient=%s alerts=%zu", p->recipient, p->n);
}

void parcel__end(struct parcel *p, const char *error)
{
	struct err err = { 0 };

	CHECK(!p->of && p->pending == 0); /* the whole, and all its parts have ended */
	if (p->ask) {
		asked_tested(p->notifier, p->ask, error);
		p->ask = NULL;
		parcel__free(p);
		return;
	}
	CHECK(p->n > 0);
	parcel_report(p, error);
	/* Not written down: the next round ends the process, the next process sends it again. */
	if (parcel_settle(p->notifier, p, error, &err) < 0)
		log_error("outbox.unwritten", "why=\"%s\"", err.text);
	parcel__free(p);
}
