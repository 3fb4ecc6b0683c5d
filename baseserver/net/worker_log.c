/* What jobs print, on its way to the logkeeper: filed by the lease, never by what its sender says.
 *
 * A lease may be known no more: the server was begun anew since it ended, or much else has ended
 * since. The instance's row says whose it was then; the lease is known again, and what follows is
 * judged as ever. What the row does not say (an earlier attempt, a row that is kept no more), a
 * proof that came with the chunk does, and where there is none the owner beside the log must
 * (LOG_TAIL). A session has so many such questions at a time; what is more its sender sends
 * again. */
#include <stdlib.h>
#include <string.h>

#include "baseserver/ledger/ledger.h"
#include "baseserver/net/logkeeper.h"
#include "baseserver/net/worker_impl.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

static void answer_log(struct conn *c, const struct log_put *p)
{
	Sirdar__LogAck m = SIRDAR__LOG_ACK__INIT;

	m.token = p->token;
	m.stream = p->name.stream;
	m.offset = p->have;
	m.code = p->code;
	tally(&c->w->f_log_refused, p->code == E_STALE);
	session_send(c->session, FR_LOG_ACK, &m, NULL);
}

static void log_answered(struct letter *letter, void *self)
{
	struct log_put *p = (struct log_put *)letter;
	struct conn *c = worker__conn(self, p->session);

	if (c)
		answer_log(c, p);
	free(p);
}

static void log_file(struct conn *c, struct log_put *p, int code)
{
	p->code = code;
	if (code < 0)
		answer_log(c, p);
	/* Refused when busy: the sender goes on from the last ack. */
	if (code < 0 || logkeeper_put(c->w->peers.logkeeper, p) < 0)
		free(p);
}

enum { ROWS_MAX = 64 };

struct tail {
	struct data_question q; /* first: the letter comes back as this */
	struct log_put *put;
	struct lease_proof proof; /* that came with it */
};

static void tail_free(struct tail *t)
{
	data_question_done(&t->q);
	free(t->put);
	free(t);
}

static void tail_discard(struct letter *l)
{
	tail_free((struct tail *)l);
}

/* A failure of a machine takes its number back from an attempt, not from its log. */
static bool names_it(const struct log_name *n, const struct instance *i)
{
	return n->generation == i->generation &&
	       (n->attempt == i->attempt || n->attempt == i->attempt + 1U);
}

/* It was given that very attempt of that instance, however long ago. */
static bool is_tail_proven(const struct conn *c, const struct tail *t)
{
	const struct log_put *p = t->put;
	struct lease_name name = { p->token, p->name.key, p->name.generation, p->name.attempt,
		                   c->broker };

	return ledger_proves(c->w->peers.ledger, &name, &t->proof);
}

static int unproven(struct conn *c, const struct tail *t)
{
	if (!worker__has_proofs(c->w) || !t->proof.is_there)
		return E_STALE;
	worker__forged(c, FR_LOG_CHUNK, t->put->token, c->broker);
	return E_FORGED;
}

static int tail_judge(struct conn *c, const struct tail *t)
{
	const struct instance *i = &t->q.row;
	struct log_put *p = t->put;

	if (t->q.code < 0)
		return E_AGAIN;
	bool is_last = t->q.row_code == 0 && i->token == p->token;
	if (is_last && i->broker != c->broker) {
		worker__forged(c, FR_LOG_CHUNK, p->token, i->broker);
		return E_FORGED;
	}
	if (is_last && inst_holds_slot(i, (enum state)i->state))
		return E_AGAIN; /* not durable yet, and so it has not left: a guess */
	bool is_own = is_last && names_it(&p->name, i) && p->token >= c->holder.since;
	bool is_proven = is_tail_proven(c, t);
	if (!is_proven && (t->proof.is_there ? is_own : c->w->set.lease_proof == PROOF_ALWAYS))
		return unproven(c, t);
	p->rule = is_own || (is_proven && t->q.row_code == 0) ? LOG_HOLDER : LOG_TAIL;
	if (is_own && !worker__lease_known(c->w, p->token)) {
		struct lease *l = worker__lease_recall(c->w, i, c->holder.machine);
		l->attempt = p->name.attempt;
	}
	return 0;
}

static void on_row(struct letter *letter, void *self)
{
	struct worker *w = self;
	struct tail *t = (struct tail *)letter;
	struct conn *c = worker__conn(w, t->put->session);

	if (c) {
		CHECK(c->n_rows > 0);
		c->n_rows--;
		log_file(c, t->put, tail_judge(c, t));
		t->put = NULL;
	}
	tail_free(t);
}

static void ask_row(struct conn *c, struct log_put *p, const struct lease_proof *proof)
{
	CHECK(!worker__lease_known(c->w, p->token));
	if (c->n_rows == ROWS_MAX) {
		log_file(c, p, E_AGAIN);
		return;
	}
	struct tail *t = mem_new(sizeof *t);
	t->q = (struct data_question){ .letter.discard = tail_discard,
		                       .reply_to = c->w->me,
		                       .answered = on_row,
		                       .key = p->name.key,
		                       .wants_row = true };
	t->put = p;
	t->proof = *proof;
	if (ledger_ask_data(c->w->peers.ledger, &t->q) == 0) {
		c->n_rows++;
		return;
	}
	t->put = NULL;
	tail_free(t);
	log_file(c, p, E_BUSY);
}

/* Whose log it is, which the lease says where there is one: a chunk is filed by its token, not by
 * what its sender says of it. */
static struct log_name log_name_of(const struct conn *c, const Sirdar__LogChunk *m)
{
	const struct lease *l = worker__lease_known(c->w, m->token);
	uint32_t stream = log_stream_of(m->stream);

	if (l)
		return (struct log_name){ l->key, l->generation, l->attempt, stream, m->token };
	struct inst_key key = { m->run_date, m->task_id, m->part };
	return (struct log_name){ key, m->generation, m->attempt, stream, m->token };
}

int worker__log_chunk(struct conn *c, const Sirdar__LogChunk *m)
{
	struct log_put *p = mem_new(sizeof *p + m->data.len);
	struct lease_proof proof = lease_proof_of(m->lease_proof.data, m->lease_proof.len);
	struct lease *l = worker__lease_known(c->w, m->token);

	p->reply_to = c->w->me;
	p->answered = log_answered;
	p->session = c->number;
	p->token = m->token;
	p->broker = c->broker;
	p->rule = LOG_HOLDER;
	p->name = log_name_of(c, m);
	p->offset = m->offset;
	p->dropped = m->dropped;
	p->end = m->end;
	p->bytes = m->data.len;
	if (m->data.len)
		memcpy(p->data, m->data.data, m->data.len);
	if (!l)
		ask_row(c, p, &proof);
	else if (worker__shown(c, FR_LOG_CHUNK, l, &proof) < 0)
		log_file(c, p, E_FORGED);
	else
		log_file(c, p, worker__claim(c, FR_LOG_CHUNK, m->token, &l));
	return 0;
}
