/* What the store has, told outside of it: see store/anchor.h. And what brokers say that it had. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger_impl.h"
#include "rt/actor.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/log.h"

#define KEEP_US US_PER_S

struct claim {
	struct letter letter;
	char who[64];
	struct err err;
};

struct doubt {
	struct letter letter;
	struct err err;
	struct anchor seen;
};

static int anchor_put(struct ledger *l, const struct anchor *a)
{
	struct err err = { 0 };
	int r = anchor_write(&l->anchor, a, &err);

	if (r < 0 && !l->anchor_fails)
		log_warn("anchor.not-kept", "text=\"%s\"", err.text);
	l->anchor_fails = r < 0;
	return r;
}

int ledger__anchor_open(struct ledger *l, struct err *err)
{
	struct anchor a;
	int r = store_read_tip(l->store, &l->begin, err);

	if (r < 0 || !l->set.state_dir)
		return r == E_UNSUPPORTED ? 0 : r;
	if (anchor_open(l->set.state_dir, &l->anchor, err) < 0) { /* the store is whole */
		log_warn("anchor.not-kept", "text=\"%s\"", err->text);
		return 0;
	}
	a = anchor_of(&l->begin, clock_wall_us(&clock_machine));
	anchor_put(l, &a);
	anchor_put(l, &a); /* what an earlier store has left goes */
	return 0;
}

/* While the writer has the store, what is due waits for it: see ledger_writer.c: back(). */
void ledger__set_alarm(struct ledger *l)
{
	int64_t now = actor_mono_us(l->me), at = l->proof_us + l->set.renew_us;

	if (at <= now) /* the writer has it, or it failed */
		at = now + l->set.renew_us;
	if (ledger_awaits_rows(l) && now < l->rows_after_us)
		at = l->rows_after_us;
	if (l->anchor_due_us && l->anchor_due_us < at && !(l->busy && l->anchor_due_us <= now))
		at = l->anchor_due_us;
	actor_alarm(l->me, at);
}

/* What is not written now is due a second after the last write: no other commit may come. */
void ledger_keep_anchor(struct ledger *l, bool at_once)
{
	const struct store_tip *t = store_tip(l->store);
	int64_t now = actor_mono_us(l->me), was_due_us = l->anchor_due_us;

	l->anchor_due_us = 0;
	if (l->anchor.fd < 0 || l->doubted || !t->id[0] || t->seq == l->anchor_seq ||
	    t->epoch != l->epoch)
		return;
	if (at_once || now - l->anchor_us >= KEEP_US) {
		struct anchor a = anchor_of(t, actor_wall_us(l->me));
		l->anchor_us = now;
		if (anchor_put(l, &a) == 0) {
			l->anchor_seq = t->seq;
			return;
		}
	}
	l->anchor_due_us = l->anchor_us + KEEP_US;
	if (!at_once && !was_due_us && !l->down)
		ledger__set_alarm(l);
}

const struct store_tip *ledger_begin(const struct ledger *l)
{
	return &l->begin;
}

struct ledger_told ledger_tell(const struct ledger *l)
{
	struct ledger_told told = { .number = stream_last_durable(l->stream) };

	proof_make(&l->begin, l->epoch, told.number, told.proof);
	return told;
}

struct lease_proof ledger_lease_proof(const struct ledger *l, const struct lease_name *of)
{
	return proof_of_lease(l->begin.key, of);
}

bool ledger_proves(const struct ledger *l, const struct lease_name *of,
                   const struct lease_proof *shown)
{
	return proof_fits(l->begin.key, of, shown);
}

/* The store is asked once more whether this server leads: one that is deposed may well be behind.
 * Until then nothing leaves. */
static void on_doubt(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct doubt *d = (struct doubt *)letter;

	if (!l->doubted) {
		l->doubt = d->err;
		l->doubt_of = d->seen;
		l->doubted = true;
		log_error("store.doubted", "code=%s text=\"%s\"", err_name(d->err.code),
		          d->err.text);
		actor_alarm(l->me, actor_mono_us(l->me));
	}
	free(d);
}

/* We lead, so it is the store that lost what others have seen. The next start knows it, too: both
 * lines, for the broker's epoch may be before this one, in which the store is behind. */
void ledger__doubt_proven(struct ledger *l)
{
	if (l->anchor.fd >= 0 && l->doubt_of.epoch) {
		anchor_put(l, &l->doubt_of);
		anchor_put(l, &l->doubt_of);
	}
	l->dead = true;
	l->set.fatal(l->set.fatal_ctx, &l->doubt);
}

static void doubt(struct ledger *l, const struct err *err, const struct anchor *seen)
{
	struct doubt *d = mem_new(sizeof *d);

	d->err = *err;
	if (seen)
		d->seen = *seen;
	d->letter = (struct letter){ .deliver = on_doubt, .discard = letter_free };
	if (actor_post_credit(l->me, &d->letter) < 0)
		free(d);
}

void ledger_damaged(struct ledger *l, const struct err *err)
{
	doubt(l, err, NULL);
}

void ledger_silence(struct ledger *l)
{
	l->silent = true;
}

static void on_claim(struct letter *letter, void *self)
{
	struct ledger *l = self;
	struct claim *c = (struct claim *)letter;
	const size_t cap = sizeof l->liars.names / sizeof l->liars.names[0];
	bool is_told = false;

	for (size_t i = 0; i < cap && i < l->liars.n; i++)
		is_told |= strcmp(l->liars.names[i], c->who) == 0;
	if (!is_told) {
		memcpy(l->liars.names[l->liars.n++ % cap], c->who, sizeof c->who);
		log_warn("claim.ignored", "name=%s text=\"%s\"", c->who, c->err.text);
	}
	free(c);
}

/* It is only told and counted: what one broker says without a proof stops nothing. */
static void anchor_ignore(struct ledger *l, const struct ledger_seen *seen)
{
	struct claim *c = mem_new(sizeof *c);

	snprintf(c->who, sizeof c->who, "%s", seen->who);
	err_set(&c->err, E_LOST,
	        "broker %s says that it has worked for transition %" PRIu64 " of epoch %" PRIu32
	        ", which is more than the store has, and %s: it is not believed",
	        seen->who, seen->number, seen->epoch,
	        seen->proof[0] ? "its proof is not this store's"
	                       : "proves nothing (a broker of an earlier release cannot)");
	if (seen->proof[0])
		l->f_claims_false++;
	else
		l->f_claims_unproven++;
	c->letter = (struct letter){ .deliver = on_claim, .discard = letter_free };
	if (actor_post(l->me, &c->letter) < 0) /* told another time */
		free(c);
}

int ledger_judge_seen(struct ledger *l, const struct ledger_seen *seen, struct err *err)
{
	const struct store_tip *begin = &l->begin;
	uint64_t number = seen->epoch < l->epoch ? begin->number : stream_last_durable(l->stream);
	struct anchor a = { .epoch = seen->epoch, .number = seen->number };

	if (!seen->store_id[0] || !begin->id[0])
		return 0;
	if (strcmp(seen->store_id, begin->id) != 0)
		return err_set(
			err, E_STRANGER,
			"%s has worked for the store %.8s, this server's is %.8s: if it is to "
			"work here, remove the files epoch* of its state_dir",
			seen->who, seen->store_id, begin->id);
	if (seen->epoch < begin->base_epoch || (seen->epoch <= l->epoch && seen->number <= number))
		return 0;
	if (!proof_holds(begin, seen->epoch, seen->number, seen->proof)) {
		anchor_ignore(l, seen);
		return 0;
	}
	err_set(err, E_LOST,
	        "the store lost acknowledged work: broker %s has worked for transition %" PRIu64
	        " of epoch %" PRIu32 ", the store is at %" PRIu64 " of epoch %" PRIu32
	        ": an older copy of it was put back, or its log is gone",
	        seen->who, seen->number, seen->epoch, number, l->epoch);
	memcpy(a.id, begin->id, sizeof a.id);
	snprintf(a.by, sizeof a.by, "broker %.50s", seen->who);
	a.at_us = clock_wall_us(&clock_machine);
	doubt(l, err, &a);
	return E_LOST;
}
