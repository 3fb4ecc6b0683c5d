/* passwords.h — is this the password? An actor with a thread of its own: argon2id takes some 25 ms
 * of processor and 19 MiB, which no thread that others wait for may spend.
 */
#ifndef BASESERVER_PASSWORDS_H
#define BASESERVER_PASSWORDS_H

#include "rt/actor.h"

struct passwords;

enum { PASSWORD_HASH_MAX = 128, PASSWORD_BYTES_MAX = 512 };

/* The very letter comes back through `answered`, judged; its password is wiped then. */
struct password_question {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	void (*discard)(struct letter *l);
	char hash[PASSWORD_HASH_MAX]; /* argon2id; "": nobody's, which takes as long */
	char password[PASSWORD_BYTES_MAX + 1];
	bool is_right;
};

struct passwords *passwords_new(struct thread *th);
void passwords_free(struct passwords *p); /* its thread is stopped; NULL is fine */
/*   owns    on 0 the question is on its way; on error it is the caller's
 *   errors  E_BUSY, E_CLOSED
 *   thread  any */
int passwords_ask(struct passwords *p, struct password_question *q);

#endif
