#include "cgi/who/hash.h"

#include <stdlib.h>

#include "cgi/http/call.h"
#include "util/alloc.h"
#include "util/check.h"

#define WAITING_MAX 16 /* 25 ms each: who is beyond is told to try again */

struct hash {
	struct actor *me;
	struct actor_ops ops;
};

void hash_work(struct letter *l, void *self)
{
	struct call *c = (struct call *)l;
	int r;

	(void)self;
	CHECK(c->work && c->suspended); /* nobody else touches it */
	r = c->work(c, NULL);
	if (r < 0 && c->err.code == 0)
		err_set(&c->err, r, "%s", err_text(r));
	call_resume(c);
}

struct hash *hash_new(struct thread *th, const char *name)
{
	struct hash *h = mem_new(sizeof *h);

	h->ops = (struct actor_ops){ .name = name, .letters_max = WAITING_MAX };
	h->me = actor_new(th, &h->ops, h);
	return h;
}

void hash_free(struct hash *h)
{
	free(h);
}

struct actor *hash_actor(struct hash *h)
{
	return h->me;
}
