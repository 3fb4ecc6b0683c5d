/* What the document of a peer says. An empty list is no bound, so it reads like one that is not
 * there. A document that does not read back would let in who was shut out: it is E_CORRUPT. */
#include "baseserver/model/peers.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/json_put.h"
#include "util/json_read.h"

static const char *const state_words[] = {
	[PEER_ACTIVE] = "active",
	[PEER_REVOKED] = "revoked",
	[PEER_INVITED] = "invited",
	[PEER_PENDING] = "pending",
};

const char *const asserts_words[] = { "admin", "people", "nobody", "directory", NULL };

const char *asserts_word(enum asserts a)
{
	return a == ASSERTS_UNSAID ? NULL : asserts_words[a - 1];
}

static enum asserts asserts_of(const struct jval *root)
{
	const char *text = jv_str(root, "asserts");
	int a = ASSERTS_DIRECTORY;

	while (a != ASSERTS_UNSAID && strcmp(text, asserts_words[a - 1]) != 0)
		a--;
	/* Every face's document had that word, also where nobody had said it. */
	return a == ASSERTS_ADMIN && !jv_true(root, "asserts_said") ? ASSERTS_UNSAID
	                                                            : (enum asserts)a;
}

static const struct jval *list_of(const struct jval *root, const char *key)
{
	const struct jval *v = jv_get(root, key);

	return jv_is(v, JV_LIST) && v->len ? v : NULL;
}

/* A word that nobody knows lets nobody in. */
static enum peer_state state_of(const struct store_doc *d, const struct jval *root)
{
	const char *word = jv_str(root, "state");

	for (int s = PEER_ACTIVE; s <= PEER_PENDING && !d->retired; s++)
		if (strcmp(word, state_words[s]) == 0)
			return (enum peer_state)s;
	return PEER_REVOKED;
}

static bool keys_read(struct peer *p)
{
	const char *asked = jv_str(p->root, "asked");
	bool ok = true;

	JV_EACH(v, list_of(p->root, "keys"))
		ok = ok && p->n_keys < PEER_KEYS_MAX && v->kind == JV_TEXT &&
		     pair_parse(v->text, p->keys[p->n_keys++]);
	p->has_asked = asked[0];
	p->former_until_us = jv_int(p->root, "former_until", 0) * US_PER_S;
	p->invite = jv_str(p->root, "invite");
	p->invite_until_us = jv_int(p->root, "invite_until", 0) * US_PER_S;
	return ok && (!asked[0] || pair_parse(asked, p->asked));
}

int peer_read(const struct store_doc *d, void **ret_peer, struct err *err)
{
	struct peer *p = mem_new(sizeof *p);

	if (jv_parse(d->body, d->body_len, &p->root, NULL) < 0 || !jv_is(p->root, JV_OBJECT) ||
	    !keys_read(p)) {
		peer_drop(p);
		return err_set(err, E_CORRUPT, "lb_peer: the body of %s (id %u) does not read back",
		               d->name, d->id);
	}
	const char *kind = jv_str(p->root, "kind");
	p->kind = peer_kind_parse(kind, strlen(kind));
	p->state = state_of(d, p->root);
	p->expires_us = jv_int(p->root, "expires", 0) * US_PER_S;
	p->asserts = asserts_of(p->root);
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

static void list_put(struct buf *out, const char *key, const struct jval *list)
{
	put_open(out, key, '[');
	JV_EACH(v, list)
		put_text(out, NULL, v->text);
	put_close(out, ']');
}

static void keys_put(const struct peer *p, struct buf *out)
{
	char text[PAIR_TEXT];

	put_open(out, "keys", '[');
	for (size_t i = 0; i < p->n_keys; i++) {
		pair_text(p->keys[i], text);
		put_text(out, NULL, text);
	}
	put_close(out, ']');
	if (p->former_until_us)
		put_int(out, "former_until", p->former_until_us / US_PER_S);
	if (p->has_asked) {
		pair_text(p->asked, text);
		put_text(out, "asked", text);
	}
	if (p->invite && p->invite[0]) {
		put_text(out, "invite", p->invite);
		put_int(out, "invite_until", p->invite_until_us / US_PER_S);
	}
}

void peer_print(const struct peer *p, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "kind", peer_kind_name(p->kind));
	list_put(out, "groups", p->groups);
	list_put(out, "types", p->types);
	list_put(out, "projects", p->projects);
	if (p->kind == PEER_FACE && p->asserts != ASSERTS_UNSAID) {
		put_text(out, "asserts", asserts_word(p->asserts));
		put_bool(out, "asserts_said", true);
	}
	put_int(out, "expires", p->expires_us / US_PER_S);
	put_text(out, "state", state_words[p->state]);
	keys_put(p, out);
	put_close(out, '}');
}

const struct peer *peers_find(const struct docs *peers, const char *name)
{
	const struct doc *d = docs_ever(peers, name);

	return d ? d->means : NULL;
}

bool peer_has_key(const struct peer *p, const uint8_t key[PAIR_BYTES], int64_t now_us)
{
	for (size_t i = 0; i < p->n_keys; i++)
		if (memcmp(p->keys[i], key, PAIR_BYTES) == 0)
			return i == 0 || now_us < p->former_until_us;
	return false;
}

bool peer_has_asked(const struct peer *p, const uint8_t key[PAIR_BYTES])
{
	return p->has_asked && memcmp(p->asked, key, PAIR_BYTES) == 0;
}

const char *peers_whose(const struct docs *peers, const uint8_t key[PAIR_BYTES])
{
	for (size_t i = 0; i < peers->n; i++) {
		const struct peer *p = peers->items[i].means;
		if (p && (peer_has_key(p, key, INT64_MIN) || peer_has_asked(p, key)))
			return peers->items[i].name;
	}
	return NULL;
}

bool peer_lists(const struct jval *list, const char *word)
{
	return !list || jv_has(list, word);
}
