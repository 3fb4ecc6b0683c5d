/* What the document of a peer says. An empty list is no bound, so it reads like one that is not
 * there. A document that does not read back would let in who was shut out: it is E_CORRUPT. */
#include "baseserver/model/peers.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_read.h"

static const struct jval *list_of(const struct jval *root, const char *key)
{
	const struct jval *v = jv_get(root, key);

	return jv_is(v, JV_LIST) && v->len ? v : NULL;
}

int peer_read(const struct store_doc *d, void **ret_peer, struct err *err)
{
	struct peer *p = mem_new(sizeof *p);

	if (jv_parse(d->body, d->body_len, &p->root, NULL) < 0 || !jv_is(p->root, JV_OBJECT)) {
		peer_drop(p);
		return err_set(err, E_CORRUPT, "lb_peer: the body of %s (id %u) does not read back",
		               d->name, d->id);
	}
	const char *kind = jv_str(p->root, "kind");
	p->kind = peer_kind_parse(kind, strlen(kind));
	p->is_revoked = d->retired || strcmp(jv_str(p->root, "state"), "active") != 0;
	p->expires_us = jv_int(p->root, "expires", 0) * US_PER_S;
	p->groups = list_of(p->root, "groups");
	p->types = list_of(p->root, "types");
	p->projects = list_of(p->root, "projects");
	*ret_peer = p;
	return 0;
}

void peer_drop(void *peer)
{
	struct peer *p = peer;

	if (!p)
		return;
	jv_free(p->root);
	free(p);
}

const struct peer *peers_find(const struct docs *peers, const char *name)
{
	const struct doc *d = docs_ever(peers, name);

	return d ? d->means : NULL;
}

bool peer_lists(const struct jval *list, const char *word)
{
	return !list || jv_has(list, word);
}
