/* maintainer.h — time passes: leases, retries, alive_wait, expiry, ended tasks (the seed's
 * maintenance).
 *
 * Folds the ledger's stream; one heap of deadlines. The server's half of the lease rule:
 * T_fence + T_kill < T_lose, counted here from receipt (design: SEMANTICS section 3).
 */
#ifndef BASESERVER_MAINTAINER_H
#define BASESERVER_MAINTAINER_H

#include <stddef.h>
#include <stdint.h>

struct actor;
struct held_news;
struct ledger;
struct maintainer;
struct thread;

struct maintainer_settings {
	int64_t lose_us;       /* T_lose */
	int64_t kill_extra_us; /* beyond the task's grace, before Hanged (10 s) */
	int64_t retention_us;  /* finished rows are kept so long; 0: for ever */
	size_t retention_rows; /* dropped in one step */
	int64_t figures_us;    /* statistics are kept so long; 0: for ever */
	uint64_t save_numbers; /* outcomes are saved after so many transitions; 0: hourly */
	int64_t grace_us;      /* what the first clocks of an epoch have beyond T_lose */
	int64_t beat_us;       /* how often a broker shows a sign of life */
};

/* Takes what the ledger loaded; all clocks of leases start anew. Before any thread runs. */
struct maintainer *maintainer_new(struct thread *th, struct ledger *ledger,
                                  const struct maintainer_settings *set);
void maintainer_free(struct maintainer *m); /* its thread is stopped; NULL is fine */

/* A session's list of tokens. On 0 the maintainer owns the letter. Thread: any. */
int maintainer_held(struct maintainer *m, struct held_news *n);

/* This actor's thread brings signs of life: nobody is declared lost by a silence during which it
 * stood still. Before any thread runs. */
void maintainer_listens(struct maintainer *m, struct actor *ear);

#endif
