/* sign_in_impl.h — sign-ins under way; for commander_sign_in.c, sign_outside.c, sign_mint.c only.
 */
#ifndef BASESERVER_SIGN_IN_IMPL_H
#define BASESERVER_SIGN_IN_IMPL_H

#include "baseserver/command/commander_impl.h"
#include "util/network.h"

struct outside;
struct tries;

enum { WAITING_MAX = 256, TURNS = 1024 };

struct sign_in {
	struct client_request *r; /* who asks; owned */
	const struct jval *args;  /* owned; borrowed by what follows */
	const char *user, *via, *password, *code;
	char network[NETWORK_TEXT];
	char name[PERSON_NAME];       /* of who was judged to be of a provider: `user`, then */
	char secret[CREDENTIAL_TEXT]; /* minted, not durable yet; "": not that far */
	uint64_t came;                /* the turn at which it began to wait */
	int64_t since;                /* of the person whose password was right */
	int64_t factor;               /* the mark of his second factor; 0: he has none */
	bool is_booked;
};

struct sign_ins {
	struct tries *tries;
	struct sign_in *waiting[WAITING_MAX]; /* as they came */
	size_t n;
	struct sign_in *judged;   /* its password is being hashed; NULL: none is */
	struct sign_in **keeping; /* their codes, or sessions, become durable */
	size_t n_keeping, cap;
	uint64_t turn, turns[TURNS]; /* when a face, or a lane of it, had its last turn, by hash */
	struct outside *outside;
};

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
/* A face asserted somebody of the provider: told once. */
void outside__believed(struct commander *c, const struct sign_in *s);

#endif
