/* worker_impl.h — the worker's inside, shared by worker*.c only. */
#ifndef BASESERVER_WORKER_IMPL_H
#define BASESERVER_WORKER_IMPL_H

#include "baseserver/ledger/letters.h"
#include "baseserver/model/peers.h"
#include "baseserver/net/worker.h"
#include "rt/stream.h"
#include "sirdar.pb-c.h"
#include "util/buf.h"
#include "util/lease_proof.h"
#include "util/map.h"
#include "util/slab.h"
#include "util/timing.h"
#include "wire/session.h"

enum role { ROLE_NONE, ROLE_BROKER, ROLE_LOADER, ROLE_CLIENT };

/* Of a loader with a key of its own: what its machine has signed for it. */
struct delegated {
	bool is_there;
	uint8_t key[PAIR_BYTES]; /* the machine's that signed it */
	char machine[40], type[64];
	uint32_t lane;
	int64_t until_us; /* wall */
};

struct param_question;

struct conn {
	struct conn *next, *prev;
	struct worker *w;
	struct session *session;
	char identity[64], peer[64];
	uint32_t key_serial; /* of the key it was opened with, or: */
	bool has_pair;
	uint8_t public[PAIR_BYTES];
	struct delegated by;   /* the key is nobody's, and is let in by this one */
	char invite[20];       /* the id of the code it was opened with; "": none */
	enum peer_kind kind;   /* once it has greeted */
	bool is_refused;       /* it is about to end */
	struct router *router; /* is told when it is over */
	uint32_t door;
	uint64_t origin;
	uint32_t number; /* of the session; 0 before the greeting */
	enum role role;
	uint32_t protocol; /* agreed on */
	uint32_t broker;
	struct holder holder;
	uint32_t lane, slots; /* of a loader, as `others`; slots 0: it did not say */
	bool others;
	bool separates;     /* of a loader, as HELLO says it */
	bool probes;        /* the same: its runner can try to connect */
	bool closed;        /* it said that it takes nothing more: nothing leaves */
	uint32_t told_held; /* the registrar knows of so many */
	char name[64], type[64];
	char **groups;                      /* NULL-ended */
	bool greeted, fresh, accepts, news; /* news: the sorter is to be told */
	bool proves, keeps_proofs;          /* as HELLO says, where there are proofs at all */
	bool owes_proof;                    /* its list is judged with the proofs that follow */
	uint32_t n_unproven;                /* a loader: of its last beat, believed all the same */
	bool drained;                       /* its broker gets no more work */
	bool refuses;                       /* it sent a job back: nothing until new credit */
	bool listed_forged;                 /* a list of its named another's, which was told */
	uint32_t n_rows;                    /* asked for chunks whose leases are not known */
	bool is_ending;                     /* and said that it is about to end */
	uint64_t limit, resent, unsent;     /* totals; unsent: granted and given back */
	struct rank_load load;              /* of its broker */
	uint64_t *held;                     /* of the greeting */
	uint32_t jobs_max;                  /* as its broker told; 0: not yet */
	size_t n_held;
	Sirdar__Job **jobs; /* to send at the end of this turn */
	size_t n_jobs, jobs_cap;
	Sirdar__Kill **kills;
	size_t n_kills, kills_cap;
	Sirdar__ReportAck **acks;
	size_t n_acks, acks_cap;
	bool touched; /* in the worker's list of those with something to send */
	struct conn *next_touched;
	/* clients */
	bool subscribed;
	uint64_t seen;  /* last number sent to a subscriber */
	uint64_t heard; /* of the news of commands, the last one sent */
	bool is_notifier;
	struct client_request *asked; /* of the notifier, not answered; linked by letter.next */
	struct parcel *parcels;       /* worker_piece.c */
};

enum { OVER_KEPT = 16384 };

/* Of a lease: its broker's own session, its loader's, and one of a machine with another name. */
enum { BY_BROKER, BY_LOADER, BY_OTHER, PROVERS };

/* A lease as this worker knows it: what a token stands for. */
struct lease {
	struct inst_key key;
	uint64_t token;
	uint64_t machine; /* as in struct holder */
	uint32_t slot, session, broker, revision;
	uint32_t next_free;
	uint32_t generation, attempt;
	bool given_back;  /* returned as never started: must not be sent any more */
	bool asks;        /* its values are on their way; it leaves with them */
	bool told_end;    /* by its holder */
	bool is_over;     /* not a lease any more; its log may have a tail */
	bool is_former;   /* of before the start, and its holder has not said yet: it runs */
	bool any_type;    /* what it was granted with is not kept: nobody knows its type */
	bool keeps_proof; /* its holder can prove it: was given it to keep, or has shown it */
	uint32_t provers[PROVERS]; /* sessions that have shown it, or got it */
	uint32_t listed;           /* by a beat of this session */
	int64_t lacks_us;          /* a secret that it asked for is not to be had for so long */
	const struct task *def;    /* what it runs with; counted, or NULL */
};

struct worker {
	struct actor *me;
	struct worker_settings set;
	struct worker_peers peers;
	struct stream_reader *in;
	struct conn *conns;
	struct map by_number; /* session number -> index in `places` */
	struct conn **places;
	size_t n_places;
	uint32_t last_number;
	struct slab leases;
	struct map by_token;
	uint32_t *over; /* a ring of OVER_KEPT of them, in the order of their ends */
	uint64_t n_over;
	const struct task **defs; /* by id, counted */
	size_t defs_cap;
	struct conn *touched;
	struct proposals *open;                         /* reports of this turn */
	void (*answered)(struct letter *l, void *self); /* to them */
	void (*evict)(struct letter *l, void *self);    /* deliver of struct evict */
	_Atomic uint64_t f_jobs, f_reports, f_log_refused, f_unproven;
	struct timing hand_over;
	struct event_ring *ring;         /* worker_client.c */
	struct news *news;               /* worker_news.c */
	struct plugin_choices **plugins; /* worker_orders.c */
	size_t n_plugins;
	struct docs who;          /* worker_peer.c: documents of peers */
	int64_t look_us;          /* wall: when the next one expires that is here; 0: none does */
	struct session_door door; /* worker_enrol.c */
	struct guesses *guesses;  /* the same */
	struct exposed *exposed;  /* worker_exposed.c */
	struct probe *probes;     /* worker_probe.c: under way, one a loader */
};

/* worker_table.c: sessions, leases, definitions */
void worker__table_init(struct worker *w); /* with what the ledger loaded */
void worker__table_done(struct worker *w);
void worker__conn_add(struct worker *w, struct conn *c); /* its number names it from now on */
void worker__conn_remove(struct conn *c);
struct conn *worker__conn(const struct worker *w, uint32_t session); /* NULL: gone */
void worker__touch(struct conn *c);                                  /* it has something to send */
/* Joins the reports of this turn, which leave for the ledger with worker__propose_open(). */
struct proposal *worker__propose(struct worker *w, enum ask ask, struct inst_key key);
void worker__propose_open(struct worker *w);
struct lease *worker__lease(const struct worker *w, uint64_t token); /* NULL: not live */
/* Live, or over not long ago. */
struct lease *worker__lease_known(const struct worker *w, uint64_t token);
struct lease_name worker__lease_name(const struct lease *l); /* as it was granted */
/* One that is over and was forgotten, from its row; it is not known now. */
struct lease *worker__lease_recall(struct worker *w, const struct instance *i, uint64_t machine);
/* Keeps what this worker must know of every record; worker_send.c acts on it. */
void worker__note(struct worker *w, const struct transition *tr);

/* worker_news.c: how far commands are. */
void worker__news_flush(struct worker *w);
void worker__news_free(struct worker *w);

/* worker_claim.c: may c speak of that lease in a frame of this kind? *ret is set with 0 only.
 *   errors  E_STALE: nobody holds the lease, it is over, or this frame may not name it;
 *           E_FORGED: another broker holds it, and the registrar counts that */
int worker__claim(struct conn *c, enum frame_kind kind, uint64_t token, struct lease **ret);
/* The same, where the answer was given already: nobody is told again. NULL: not its own. */
struct lease *worker__own(struct conn *c, enum frame_kind kind, uint64_t token);
/* It shows that l is its own, in a frame of this kind. E_FORGED: it does not, and that is told. */
int worker__shown(struct conn *c, enum frame_kind kind, struct lease *l,
                  const struct lease_proof *p);
/* It spoke of a lease of that broker's. */
void worker__forged(struct conn *c, enum frame_kind kind, uint64_t token, uint32_t broker);

/* worker_proof.c: what shows that a lease is the sender's. There are proofs where the store has a
 * key. */
bool worker__has_proofs(const struct worker *w);
void worker__give_proof(struct conn *c, Sirdar__Job *job); /* it leaves to c */
/* Of l, as c shows it; none is no lie. E_FORGED: it is another's, or made up. */
int worker__take_proof(const struct conn *c, struct lease *l, const struct lease_proof *p);
bool worker__has_shown(const struct conn *c, const struct lease *l);
bool worker__wants_proof(const struct worker *w, const struct lease *l);
void worker__count_unproven(struct conn *c, uint32_t n);

/* worker_greet.c: HELLO to WELCOME */
int worker__hello(struct conn *c, const Sirdar__Hello *h);
void worker__greeted(struct letter *l, void *self);

/* worker_enrol.c: by what key a session is opened, and public keys that are made known */
void worker__door_of(const struct worker *w, struct session_door *ret); /* with a struct conn */
void worker__guessed(struct conn *c); /* it came in under a code: that try does not count */
int worker__enrol(struct conn *c, const Sirdar__Enrol *m);
void worker__key_used(struct conn *c); /* it was let in by it */
/* Of this server and its like, for peers to know them by. */
char **worker__server_keys(const struct worker *w, size_t *ret_n);
void worker__server_keys_free(char **keys, size_t n);

/* worker_delegation.c: loaders by keys of their own */
int worker__delegation(struct conn *c, const Sirdar__Delegation *m);
/* E_DELEGATION: it is another machine's, or another lane's. */
int worker__judge_lane(const struct conn *c, const Sirdar__Hello *h, struct err *err);

/* worker_peer.c: who may be here, and as what */
struct claim { /* what a peer says that it is; borrowed */
	enum role role;
	char **groups;
	size_t n_groups;
	const char *type;
};
/* It is kept for who asks why a peer is not here: turned.h. */
void worker__turned(const struct conn *c, int code, const char *why);
void worker__let_in(const struct conn *c);                                   /* and is over */
void worker__refuse(struct conn *c, int code, bool final, const char *text); /* and it ends */
/* E_PEER; E_DELEGATION: as a loader that its machine does not let in, or not any more. */
int worker__judge(struct conn *c, const struct claim *as, struct err *err);
void worker__tell_barred(const struct conn *c, const struct claim *as, uint32_t lane,
                         const struct err *why);
int worker__judge_key(struct conn *c, struct err *err); /* of a session by a pair. the same */
/* E_DELEGATION: that time is over. */
int worker__judge_until(const struct conn *c, int64_t until_us, struct err *err);
void worker__look_at(struct worker *w, int64_t wall_us); /* who is here is judged again then */
void worker__peers_look(struct worker *w); /* at the head of a turn: who has expired? */
/* E_FORBIDDEN its kind may not ask for such a command */
int worker__may_command(const struct conn *c, const char *kind, bool for_somebody, struct err *err);
/* Who acts: whom a face names, else the peer itself. heap */
char *worker__actor(const struct conn *c, const char *said);
/* Does a face speak for somebody? */
bool worker__is_for(const struct conn *c, const char *said);
/* The projects that its commands keep to, a line each; NULL: all. heap */
char *worker__projects(const struct conn *c);

/* worker_read.c: what a client may read */
int worker__may_ask(const struct conn *c, const char *query, struct err *err); /* E_FORBIDDEN */
bool worker__is_bound(const struct conn *c); /* it keeps to some projects */
bool worker__may_read(const struct conn *c, uint32_t task);
char *worker__reads(const struct conn *c); /* those projects, a line each; NULL: all. heap */

/* worker_report.c: what brokers and loaders send */
int worker__prove(struct conn *c, const Sirdar__Prove *m);
int worker__beat(struct conn *c, const Sirdar__Beat *b);
int worker__reports(struct conn *c, const Sirdar__Reports *r);
int worker__credit(struct conn *c, const Sirdar__Credit *m);
int worker__load(struct conn *c, const Sirdar__Load *m);
int worker__runner(struct conn *c, const Sirdar__RunnerState *m);
int worker__param_ask(struct conn *c, const Sirdar__ParamAsk *m);
/* Its values as a message has them; borrowed from q. End them with worker__params_free(). */
Sirdar__Param **worker__params(const struct param_question *q);
void worker__params_free(Sirdar__Param **list);
void worker__answered(struct letter *l, void *self);
void worker__evict(struct letter *l, void *self); /* deliver of struct evict */
void worker__send_held(struct conn *c, const uint64_t *tokens, size_t n, bool hello);

/* worker_exposed.c: which passwords peers are given */
/* give(), which takes q, is called when it is noted that the peer has those of q: now, or later; or
 * that cannot be noted, and q has no values then. */
void worker__exposed(struct worker *w, struct param_question *q,
                     void (*give)(struct worker *w, struct param_question *q));
void worker__exposed_free(struct worker *w);

/* worker_probe.c: tests of target servers */
int worker__probed(struct conn *c, const Sirdar__Probed *m);
void worker__probe_gone(struct conn *c); /* its session is over */
void worker__probes_free(struct worker *w);

/* worker_log.c: what jobs print */
int worker__log_chunk(struct conn *c, const Sirdar__LogChunk *m);

/* worker_orders.c: what brokers are told to do besides jobs */
void worker__tell_plugins(struct conn *c); /* one that was greeted */
void worker__plugins_free(struct worker *w);

/* worker_send.c: what leaves */
void worker__fold(struct worker *w);
void worker__flush(struct worker *w);
void worker__close_seat(struct conn *c); /* what is ready leaves, then nothing more */
void worker__tell_sorter(struct conn *c, bool gone);
void worker__resend(struct letter *l, void *self);
void worker__conn_clear(struct conn *c);

/* worker_notifier.c: who tells people */
int worker__alerts(struct conn *c, const Sirdar__Query *m);
/* worker_channel.c */
int worker__channel_ask(struct conn *c, const Sirdar__ChannelAsk *m);
int worker__reply(struct conn *c, const Sirdar__Answer *m);
void worker__notifier_gone(struct conn *c);
void worker__notifier_clear(struct conn *c); /* at the very end: nobody is told */
/* worker_client.c: commands, queries, events, logs */
/* r is c's: its answer goes there as ANSWER `id`. */
void worker__address(struct client_request *r, const struct conn *c, uint64_t id);
/* It was handed on, or (code < 0) is answered so. */
int worker__posted(struct conn *c, struct client_request *r, int code);
int worker__command(struct conn *c, const Sirdar__Command *m);
int worker__sign_in(struct conn *c, const Sirdar__SignIn *m);
int worker__query(struct conn *c, const Sirdar__Query *m);
/* worker_piece.c: arguments that are larger than a frame, piece by piece */
int worker__piece(struct conn *c, const Sirdar__Piece *m);
/* They are all there: r gets them. 1: they were refused, and that was answered. E_PROTOCOL */
int worker__pieces_take(struct conn *c, const Sirdar__Command *m, struct client_request *r);
void worker__pieces_free(struct conn *c);
int worker__subscribe(struct conn *c, const Sirdar__Subscribe *m);
int worker__log_read(struct conn *c, const Sirdar__LogRead *m);
int worker__told(struct conn *c, const Sirdar__Told *m);
void worker__client_event(struct worker *w, const struct transition *tr);
void worker__client_gone(struct conn *c);
void worker__client_flush(struct worker *w);
void worker__client_free(struct worker *w);

#endif
