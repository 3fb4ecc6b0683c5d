/* The store's calls, one at a time: on a thread of their own when they may wait for another
 * process, so that the ledger's goes on taking letters and answering; else at once, because
 * waking another thread costs more than a commit to a local file, but for an edit of very many
 * definitions: others of the ledger's thread go on meanwhile. */
#include <stdlib.h>

#include "baseserver/ledger/ledger_impl.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

enum { LONG_ROWS = 1000 }; /* of definitions: some milliseconds */

struct proof {
	struct job job;
	int code;
	uint32_t epoch;
	int64_t now_us; /* wall */
	struct err err;
};

struct writer {
	struct actor *me;
	struct store *store;
	struct proof proof;
};

static const struct actor_ops writer_ops = { .name = "writer", .letters_max = 16 };

struct writer *writer__new(struct thread *th, struct ledger *l)
{
	struct writer *w = mem_new(sizeof *w);

	w->store = l->store;
	if (th)
		w->me = actor_new(th, &writer_ops, w);
	return w;
}

void writer__free(struct writer *w)
{
	free(w);
}

/* Both threads are stopped, or the letter's reader is: the ledger frees what it owns. */
static void job_drop(struct letter *l)
{
	(void)l;
}

static void writer_back(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct job *job = (struct job *)letter;

	CHECK(l->busy && job->ledger == l);
	l->busy = l->lent = false;
	l->f_busy_us = 0;
	job->done(l, job);
	if (!l->busy && l->anchor_due_us)
		ledger_keep_anchor(l, false); /* it may have become due meanwhile */
	actor_wake(l->me);                    /* letters may have waited for it */
}

static void writer_work(struct letter *letter, void *self)
{
	struct writer *w = self;
	struct job *job = (struct job *)letter;

	job->began_us = actor_mono_us(w->me);
	job->work(job, w->store);
	job->letter.deliver = writer_back;
	if (actor_post_credit(job->ledger->me, &job->letter) < 0)
		job_drop(&job->letter);
}

/* A local store is lent for a large edit, and nothing is applied until it is back: what is applied
 * may read it. */
static bool is_long(const struct ledger *l, const struct job *job)
{
	const struct store_batch *b = &l->flight.b;

	return job == &l->flight.job && b->n_tasks + b->n_docs >= LONG_ROWS;
}

void ledger__do(struct ledger *l, struct job *job)
{
	CHECK(!l->busy && job->work && job->done);
	bool lent = !l->set.waits && l->writer->me && is_long(l, job);
	if (!l->set.waits && !lent) {
		job->began_us = actor_mono_us(l->me);
		job->work(job, l->store);
		job->done(l, job);
		return;
	}
	l->busy = true;
	l->lent = lent;
	l->f_busy_us = lent ? 0 : actor_mono_us(l->me);
	job->ledger = l;
	job->letter = (struct letter){ .deliver = writer_work, .discard = job_drop };
	if (actor_post_credit(l->writer->me, &job->letter) < 0)
		job_drop(&job->letter); /* the process ends */
}

static void writer_prove(struct job *job, struct store *s)
{
	struct proof *p = (struct proof *)job;

	p->err = (struct err){ 0 };
	p->code = store_renew_lease(s, p->epoch, p->now_us, &p->err);
	if (p->code < 0)
		return; /* the next commit says what is wrong */
	store_quiet(s);
	if (store_waits(s))
		store_idle(s);
}

static void proven(struct ledger *l, struct job *job)
{
	struct proof *p = (struct proof *)job;

	if (p->code == 0) {
		l->proof_us = p->job.began_us;
		ledger_keep_anchor(l, false);
		if (l->doubted)
			ledger__doubt_proven(l);
	}
	if (p->code != E_EPOCH)
		return;
	l->dead = true;
	l->set.fatal(l->set.fatal_ctx, &p->err);
}

void ledger__renew_proof(struct ledger *l)
{
	struct proof *p = &l->writer->proof;

	p->job.work = writer_prove;
	p->job.done = proven;
	p->epoch = l->epoch;
	p->now_us = actor_wall_us(l->me);
	ledger__do(l, &p->job);
}
