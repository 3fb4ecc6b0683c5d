/* Housekeeping: rows and figures that are old enough go, between everything else. */
#include <stdlib.h>

#include "baseserver/maintainer_impl.h"
#include "rt/actor.h"

#define KEEP_STEP_US (50 * US_PER_MS) /* between two slices: the ledger breathes */

static void kept(struct letter *letter, void *self)
{
	struct maintainer *m = self;
	const struct ledger_keep *k = ledger_kept(letter);
	bool more = k->code == 0 && k->rows >= m->set.retention_rows;

	m->keeping = false;
	m->saved = k->code == 0 && more;
	m->keep_us = actor_mono_us(m->me) + (more ? KEEP_STEP_US : MAINTAINER_KEEP_EVERY_US);
	free(letter);
}

/* The first slice of a round saves the outcomes: history may go once they are kept. */
void maintainer_keep_house(struct maintainer *m)
{
	struct ledger_keep ask = { .reply_to = m->me,
		                   .answered = kept,
		                   .save = !m->saved,
		                   .before_us = actor_wall_us(m->me) - m->set.retention_us,
		                   .rows_max = m->set.retention_rows };

	if (m->set.figures_us)
		ask.figures_before = (int32_t)((actor_wall_us(m->me) - m->set.figures_us) /
		                               (86400 * US_PER_S));

	if (m->set.retention_us == 0 || m->keeping || actor_mono_us(m->me) < m->keep_us)
		return;
	m->keeping = ledger_keep(m->ledger, &ask) == 0;
}
