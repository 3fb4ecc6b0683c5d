#include "baseserver/model/front.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/check.h"

static _Atomic size_t room_taken; /* of ALL_ARGS_BYTES_MAX, by all sessions */

bool front_room_take(size_t bytes)
{
	size_t was = atomic_load(&room_taken);

	do {
		if (bytes > ALL_ARGS_BYTES_MAX || was > ALL_ARGS_BYTES_MAX - bytes)
			return false;
	} while (!atomic_compare_exchange_weak(&room_taken, &was, was + bytes));
	return true;
}

void front_room_give(size_t bytes)
{
	size_t was = atomic_fetch_sub(&room_taken, bytes);

	CHECK(was >= bytes); /* who gives it back took it */
}

static void front_discard(struct letter *l)
{
	client_request_free((struct client_request *)l);
}

struct client_request *client_request_new(const char *kind, const char *args, size_t args_len)
{
	struct client_request *r = mem_new(sizeof *r);

	r->letter.discard = front_discard;
	r->kind = mem_str(kind);
	r->args = mem_strn(args ? args : "", args ? args_len : 0);
	r->args_len = args ? args_len : 0;
	return r;
}

void client_request_free(struct client_request *r)
{
	if (!r)
		return;
	front_room_give(r->room);
	free(r->kind);
	free(r->args);
	free(r->request_id);
	free(r->actor);
	free(r->face);
	free(r->credential);
	free(r->projects);
	free(r->body);
	free(r);
}
