/* The server hears whose end somebody was told of (SEMANTICS section 3: notified_at). Kept in the
 * outbox until it has answered; told again it changes nothing there. */

#include "notifier/message.h"
#include "notifier/notifier.h"
#include "notifier/outbox.h"
#include "notifier/sender.h"
#include "notifier/wake.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"

enum { BATCH_MAX = 200 };
#define AGAIN_MS 1000

static bool is_end(enum happening what)
{
	return what == HP_FAILED || what == HP_KILLED || what == HP_SKIPPED ||
	       what == HP_SUCCEEDED || what == HP_FORCED;
}

int told_put(struct notifier *n, const struct alert *a, const char *who, struct err *err)
{
	struct outbox_told t = {
		.task = a->task_id, .generation = a->generation, .run_date = a->run_date, .who = who
	};

	return a->task_id && is_end(a->what) ? outbox_put_told(n->outbox, &t, err) : 0;
}

static int told_take(void *ctx, const struct outbox_told *t)
{
	struct told *all = ctx;

	CHECK(all->n < BATCH_MAX);
	all->items[all->n++] = (struct told_item){ .task = t->task,
		                                   .generation = t->generation,
		                                   .run_date = t->run_date,
		                                   .who = mem_str(t->who) };
	return 0;
}

void told_back(void *notifier, struct told *t)
{
	struct notifier *n = notifier;

	told_free(atomic_exchange(&n->answered, t));
	sender_wake(n->sender);
}

/* Marked, redone meanwhile, or gone from history: nothing is left to be marked. */
static bool is_settled(int code)
{
	return code == 0 || code == E_STALE || code == E_NOT_FOUND || code == E_INVALID;
}

static int told_settle(struct notifier *n, const struct told *t, int64_t now_us, struct err *err)
{
	int r = outbox_begin(n->outbox, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < t->n && r == 0; i++) {
		const struct told_item *it = &t->items[i];
		struct outbox_told row = { .task = it->task,
			                   .generation = it->generation,
			                   .run_date = it->run_date };
		if (is_settled(it->code))
			r = outbox_drop_told(n->outbox, &row, err);
		else
			n->tell_us = now_us + AGAIN_MS * US_PER_MS;
	}
	return outbox_end(n->outbox, r, err);
}

int told_send(struct notifier *n, int64_t now_us, int64_t *wait_ms, struct err *err)
{
	struct told *t = atomic_exchange(&n->answered, NULL);
	int r = 0;

	if (t) {
		n->is_telling = false;
		r = told_settle(n, t, now_us, err);
		told_free(t);
	}
	if (r < 0 || n->is_telling || !n->wake)
		return r;
	if (now_us < n->tell_us && n->tell_us - now_us <= AGAIN_MS * US_PER_MS) {
		*wait_ms = *wait_ms < AGAIN_MS ? *wait_ms : AGAIN_MS;
		return 0;
	}
	t = mem_new(sizeof *t + BATCH_MAX * sizeof t->items[0]);
	r = outbox_told(n->outbox, BATCH_MAX, told_take, t, err);
	n->is_telling = r == 0 && t->n > 0;
	if (n->is_telling)
		wake_tell(n->wake, t);
	else
		told_free(t);
	return r;
}
