/* broker.h — a broker as the registrar knows it, and which machine has its name.
 *
 * The registrar's thread alone looks at one. No clock: who calls says what time it is.
 */
#ifndef BASESERVER_BROKER_H
#define BASESERVER_BROKER_H

#include "baseserver/sort/registrar.h"

enum { TYPES_MAX = 128 };

/* RunnerState.state */
enum { RUNNER_READY = 1, RUNNER_DRAINING = 6, RUNNER_OVER = 7 };

/* A loader of a type on a broker; more than one while versions follow each other. */
struct runner {
	char type[64], version[64], text[256];
	char starts[200]; /* why nothing starts; "": it does */
	char barred[200]; /* why it is not let in; "": it is, or has not asked */
	uint32_t lane;
	uint32_t state, session; /* session: its loader's, 0 none */
	uint32_t slots, held;    /* held: jobs it has */
	uint64_t incarnation;    /* of the last loader */
	struct actor *worker;    /* of its session */
	void (*evict)(struct letter *l, void *self);
};

/* Which machine a name stands for: one at a time (registrar_machine.c). */
struct machine_of {
	char nonce[40];   /* "": not known, or of an earlier version */
	uint64_t id;      /* the same under the nonces of its next boots; 0: nobody greeted yet */
	uint64_t since;   /* the first token that could be granted to it */
	int64_t heard_us; /* mono: the last sign of life of any of its sessions */
	int64_t asked_us; /* mono: since when another greets in its place; 0: nobody does */
	uint32_t refused; /* greetings of others, since the first of them ... */
	uint64_t refused_ever;
	int64_t other_us; /* mono: ... and the last one, by */
	char other_host[128], other_peer[64];
};

/* What it said of leases of others (registrar_forged.c). */
struct forgeries {
	uint64_t ever;
	uint32_t strikes;
	int64_t last_us;  /* mono; 0: never */
	int64_t until_us; /* mono: not admitted before */
	char what[128];   /* the last of them */
};

struct broker {
	uint32_t id;
	char name[64], host[128], mac[18], peer[64], software[64], boot_id[64];
	char groups[16][64];
	size_t n_groups;
	uint32_t session; /* the broker's own, 0: none */
	uint64_t incarnation;
	int64_t since_us, heard_us;
	bool accepts;
	char why_not[128];
	char barred[200]; /* why it is not let in, as a loader's */
	uint32_t cpu_permille, load_permille, memory_permille, running, slots;
	uint32_t separates; /* HELLO.separates: 1 yes, 2 no */
	uint64_t disk_free_bytes;
	struct runner runners[TYPES_MAX];
	size_t n_runners;
	struct actor *worker; /* of its session */
	void (*evict)(struct letter *l, void *self);
	struct machine_of machine;
	struct forgeries forged;
	bool stored;      /* its document is on its way or kept */
	bool drained;     /* gets no more work */
	uint32_t version; /* of its document */
};

/* When a greeting is judged. */
struct admit {
	int64_t now_us, beat_us; /* mono; how often a broker shows a sign of life */
	const struct ledger *ledger;
};

uint32_t broker_running(const struct broker *b); /* jobs on it */

/* registrar_machine.c: one machine a name. 0: g may greet, and has its claim (it may take the place
 * of one that has fallen silent, whose sessions are over now); else why not, in g too. */
int machine_admit(const struct admit *at, struct broker *b, struct greeting *g);
/* What a name's row says of it: *m, from a nonce alone where the row is of an earlier version. */
void machine_load(struct broker *b, const char *nonce, const char *id, const char *since);
void machine_heard(struct broker *b, int64_t now_us);
void machine_print(const struct broker *b, int64_t now_us, int64_t beat_us, struct buf *out);

/* All sessions of b that the registrar knows are over. */
void broker_evict(struct broker *b, int code, const char *text);
void session_evict(struct actor *worker, void (*deliver)(struct letter *l, void *self),
                   const struct evict *what);

/* registrar_forged.c: who lies. True: that was the last time, and its sessions are to end. */
bool forged_note(struct broker *b, const char *frame, const char *of, int64_t now_us);
/* E_FORGED: g is of one that is to stay out for a while. */
int forged_admit(const struct broker *b, int64_t now_us, struct greeting *g);
void forged_print(const struct broker *b, int64_t now_us, struct buf *out);

/* Its answer: g is refused. Returns code. */
int registrar_refuse(struct greeting *g, int code, const char *text);

#endif
