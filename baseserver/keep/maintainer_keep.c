/* Housekeeping: rows and figures that are old enough go, between everything else. */
#include <stdlib.h>

#include "baseserver/keep/maintainer_impl.h"
#include "rt/actor.h"
#include "util/check.h"

#define KEEP_STEP_US (50 * US_PER_MS) /* between two slices: the ledger breathes */

static void keep_kept(struct letter *letter, void *self)
{
	struct maintainer *m = self;
	const struct ledger_keep *k = ledger_kept(letter);
	bool more = k->code == 0 && k->rows >= m->set.retention_rows;

	CHECK(m->keeping); /* one slice at a time */
	m->keeping = false;
	m->saved = k->code == 0 && more;
	m->keep_us = actor_mono_us(m->me) + (more ? KEEP_STEP_US : MAINTAINER_KEEP_EVERY_US);
	free(letter);
}

/* A start reads all that finished since outcomes were saved: that may not grow without bound. */
static bool is_far(const struct maintainer *m, uint64_t last)
{
	return m->set.save_numbers && last - m->saved_at > m->set.save_numbers;
}

/* The first slice of a round saves the outcomes: history may go once they are kept. */
void maintainer__keep_house(struct maintainer *m)
{
	uint64_t last = stream_last_durable(ledger_stream(m->ledger));
	bool far = is_far(m, last), keeps_all = m->set.retention_us == 0;
	struct ledger_keep ask = {
		.reply_to = m->me,
		.answered = keep_kept,
		.save = !m->saved || far,
		.before_us = keeps_all ? 0 : actor_wall_us(m->me) - m->set.retention_us,
		.rows_max = m->set.retention_rows
	};

	if (m->set.figures_us)
		ask.figures_before = (int32_t)((actor_wall_us(m->me) - m->set.figures_us) /
		                               (86400 * US_PER_S));

	if (m->keeping || (!far && (keeps_all || actor_mono_us(m->me) < m->keep_us)))
		return;
	m->keeping = ledger_keep(m->ledger, &ask) == 0;
	if (ask.save)
		m->saved_at = last; /* if it fails: again after as many more */
}
