/* Passwords are hashed here, one after the other. Who waits, and in which order they come, is the
 * asker's to say (baseserver/command/commander_sign_in.c): one question at a time is under way. */
#include "baseserver/secret/passwords.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/check.h"
#include "util/pwhash.h"

struct passwords {
	struct actor *me;
	char nobodys[PASSWORD_HASH_MAX]; /* made when it is first asked for */
};

enum { PASSES = 2, MEMORY = 19 * 1024 * 1024 };

static const char *hash_of_nobody(struct passwords *p)
{
	_Static_assert(crypto_pwhash_STRBYTES <= PASSWORD_HASH_MAX, "the hash fits");
	if (p->nobodys[0] == '\0' &&
	    crypto_pwhash_str(p->nobodys, "nobody", 6, PASSES, MEMORY) != 0)
		p->nobodys[0] = '\0'; /* no memory: the next one tries again */
	return p->nobodys;
}

static void on_question(struct letter *l, void *self)
{
	struct password_question *q = (struct password_question *)l;
	struct passwords *p = self;
	/* A store may have a hash from before their cost was bounded: nobody gets in by it. */
	bool is_known = pwhash_ok(q->hash);
	const char *hash = is_known ? q->hash : hash_of_nobody(p);

	bool fits = crypto_pwhash_str_verify(hash, q->password, strlen(q->password)) == 0;
	q->is_right = fits && is_known;
	sodium_memzero(q->password, sizeof q->password);
	sodium_memzero(q->hash, sizeof q->hash);
	q->letter.deliver = q->answered;
	if (actor_post_credit(q->reply_to, &q->letter) < 0)
		q->discard(&q->letter);
}

int passwords_ask(struct passwords *p, struct password_question *q)
{
	q->letter = (struct letter){ .deliver = on_question, .discard = q->discard };
	return actor_post(p->me, &q->letter);
}

static const struct actor_ops ops = { .name = "passwords", .letters_max = 16 };

struct passwords *passwords_new(struct thread *th)
{
	struct passwords *p = mem_new(sizeof *p);

	CHECK(sodium_init() >= 0);
	p->me = actor_new(th, &ops, p);
	return p;
}

void passwords_free(struct passwords *p)
{
	free(p);
}
