/* sign_in_impl.h — sign-ins under way; for commander_sign_in.c, sign_queue.c, sign_outside.c,
 * sign_directory.c, sign_mint.c only.
 */
#ifndef BASESERVER_SIGN_IN_IMPL_H
#define BASESERVER_SIGN_IN_IMPL_H

#include "baseserver/command/commander_impl.h"
#include "util/network.h"

struct outside;
struct tries;
struct vouched;

enum { WAITING_MAX = 256, TURNS = 1024 };

struct sign_in {
	struct client_request *r; /* who asks; owned */
	const struct jval *args;  /* owned; borrowed by what follows */
	const char *user, *via, *password, *code;
	char network[NETWORK_TEXT];
	char name[PERSON_NAME];       /* of whom the outside vouched for, to us: `user`, then */
	char secret[CREDENTIAL_TEXT]; /* minted, not durable yet; "": not that far */
	uint64_t came;                /* the turn at which it began to wait */
	int64_t since;                /* of the person whose password was right */
	int64_t factor;               /* the mark of his second factor; 0: he has none */
	bool is_booked;
};

/* Who waits for one thread. */
struct sign_queue {
	struct sign_in *waiting[WAITING_MAX]; /* as they came */
	size_t n;
	struct sign_in *judged;      /* is at the thread; NULL: nobody is */
	uint64_t turn, turns[TURNS]; /* when a face, or a lane of it, had its last turn, by hash */
};

struct sign_ins {
	struct tries *tries;
	struct sign_queue passwords, directory;
	struct sign_in **keeping; /* their codes, or sessions, become durable */
	size_t n_keeping, cap;
	struct outside *outside;
	bool is_told; /* that a face is believed about people of a directory */
};

/* sign_queue.c: into its turn. False: it was answered, there is no room for it. */
bool sign__wait(struct commander *c, struct sign_queue *x, struct sign_in *s);
struct sign_in *sign__take_next(struct sign_queue *x);         /* there is one */
void sign__not_judged(struct commander *c, struct sign_in *s); /* no try of anybody; owns s */
void sign__queue_done(struct sign_queue *x);                   /* nobody is answered */

/* sign_mint.c */
void sign__free(struct sign_in *s); /* NULL is fine; nobody is answered */
void sign__refuse(struct sign_in *s, struct refusal *f);
void sign__busy(struct sign_in *s); /* it was not judged */
/* The password is in what came and in what was read of it: neither is kept. */
void sign__wipe(struct sign_in *s);
/* s->user is who he says: what was asked for is made. */
void sign__right(struct commander *c, struct sign_in *s);
/* A command in the name of `actor`, so that it is at a standby; `then` with the answer, in which
 * sign__answered() finds s. */
void sign__command(struct commander *c, struct sign_in *s, enum command_kind kind,
                   const char *actor, struct buf *args, void (*then)(struct letter *l, void *self));
struct sign_in *sign__answered(struct commander *c, struct client_request *r);

/* sign_outside.c. Each owns s. */
struct outside *outside__new(void);
void outside__free(struct outside *x);
bool outside__judges(const struct commander *c); /* the setting is there */
void outside__begin(struct commander *c, struct sign_in *s);
void outside__judge(struct commander *c, struct sign_in *s);
/* A provider, or the directory (s->via), vouches for `who`, which is taken: who is that here? */
void outside__arrive(struct commander *c, struct sign_in *s, struct vouched *who);
/* A face asserted somebody of the provider: told once. */
void outside__believed(struct commander *c, const struct sign_in *s);

/* sign_directory.c. Each owns s. */
bool directory__judges(const struct commander *c); /* the setting is there */
/* Is this a name that the directory is to be asked about? */
bool directory__may_know(const struct commander *c, const char *user);
void directory__ask(struct commander *c, struct sign_in *s); /* booked */
/* For a face with settings of a directory: does the server judge? And where it does: refused. */
void directory__begin(struct commander *c, struct sign_in *s);
void directory__asserted(struct sign_in *s);
/* A face asserted somebody of the directory: told once. */
void directory__believed(struct commander *c, const struct sign_in *s);

#endif
