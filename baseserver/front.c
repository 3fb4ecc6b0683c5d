#include "baseserver/front.h"

#include <stdlib.h>

#include "util/alloc.h"

static void discard(struct letter *l)
{
	client_request_free((struct client_request *)l);
}

struct client_request *client_request_new(const char *kind, const char *args, size_t args_len)
{
	struct client_request *r = mem_new(sizeof *r);

	r->letter.discard = discard;
	r->kind = mem_str(kind);
	r->args = mem_strn(args ? args : "", args ? args_len : 0);
	r->args_len = args ? args_len : 0;
	return r;
}

void client_request_free(struct client_request *r)
{
	if (!r)
		return;
	free(r->kind);
	free(r->args);
	free(r->request_id);
	free(r->actor);
	free(r->body);
	free(r);
}
