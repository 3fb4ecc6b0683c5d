/* Documents of sessions and tokens, by the hashes in them. The commander's alone.
 *
 * A hash is looked up among documents that are in force; what they say is read anew each time, so
 * a session whose person was changed, disabled or removed lets nobody in from that commit on. */
#include "baseserver/command/credentials.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "baseserver/model/docs.h"
#include "baseserver/model/grants.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_read.h"

void credentials_init(struct credentials *x)
{
	CHECK(sodium_init() >= 0);
	map_init(&x->sessions);
	map_init(&x->tokens);
}

void credentials_done(struct credentials *x)
{
	map_done(&x->sessions);
	map_done(&x->tokens);
}

void credential_hash(const char *secret, char ret_hex[CREDENTIAL_HEX])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)secret, strlen(secret));
	sodium_bin2hex(ret_hex, CREDENTIAL_HEX, hash, sizeof hash);
}

void credential_new(char ret_secret[CREDENTIAL_TEXT])
{
	unsigned char bytes[32];

	randombytes_buf(bytes, sizeof bytes);
	sodium_bin2base64(ret_secret, CREDENTIAL_TEXT, bytes, sizeof bytes,
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(bytes, sizeof bytes);
}

/* --- what is kept ------------------------------------------------------------------------- */

static void one_hash(struct map *m, const char *hash, uint32_t at, bool on)
{
	if (!*hash)
		return;
	if (on)
		map_add(m, map_text(hash), at);
	else
		map_remove(m, map_text(hash), at);
}

void credentials_doc(struct credentials *x, const struct docs *ds, const struct doc *d, bool on)
{
	uint32_t at = (uint32_t)(d - ds->items);

	CHECK(d >= ds->items && at < ds->n);
	if (d->retired)
		return;
	if (ds->kind->kind == DOC_TOKEN)
		one_hash(&x->tokens, jv_str(doc_json(d), "hash"), at, on);
	if (ds->kind->kind == DOC_SESSION)
		JV_EACH(s, jv_get(doc_json(d), "sessions"))
			one_hash(&x->sessions, jv_str(s, "hash"), at, on);
}

/* --- found -------------------------------------------------------------------------------- */

static const struct jval *person_of(const struct docs *docs, const char *user)
{
	const struct doc *d = docs_find(&docs[DOC_USER], user);

	return d ? doc_json(d) : NULL;
}

int64_t factor_marked(const struct docs *docs, const char *user)
{
	const struct doc *d = docs_find(&docs[DOC_FACTOR], user);
	const char *source = jv_str(person_of(docs, user), "source");

	if (!d || !jv_true(doc_json(d), "active") || (*source && strcmp(source, "local") != 0))
		return 0;
	return jv_int(doc_json(d), "since", -1);
}

static bool is_as_then(const struct docs *docs, const char *user, int64_t since, int64_t factor)
{
	const struct jval *person = person_of(docs, user);

	return person && !jv_true(person, "disabled") && since == jv_int(person, "since", 0) &&
	       factor == factor_marked(docs, user);
}

bool session_lasts(const struct jval *session, const struct docs *docs, const char *user,
                   int64_t now_us)
{
	return is_as_then(docs, user, jv_int(session, "since", -1), jv_int(session, "factor", 0)) &&
	       now_us / US_PER_S < jv_int(session, "expires", 0);
}

static const struct proof *proof_of(const struct credentials *x, const struct docs *docs,
                                    const char *hex, int64_t mono_us)
{
	for (size_t i = 0; i < PROOFS_MAX; i++) {
		const struct proof *p = &x->proofs[i];

		if (strcmp(p->hash, hex) == 0 && mono_us < p->until_us)
			return is_as_then(docs, p->user, p->since, p->factor) ? p : NULL;
	}
	return NULL;
}

static bool is_believed(const struct credentials *x, const struct jval *session)
{
	const char *via = jv_str(session, "via");
	const char *judge = strcmp(via, "oidc") == 0   ? x->issuer
	                    : strcmp(via, "ldap") == 0 ? x->directory
	                                               : NULL;

	return !judge || strcmp(jv_str(session, "issuer"), judge) == 0;
}

static bool find_session(const struct credentials *x, const struct docs *docs, const char *hex,
                         int64_t now_us, const struct proof *p, struct credential *ret)
{
	size_t at = 0;

	for (uint32_t i = map_first(&x->sessions, map_text(hex), &at); i != MAP_NONE;
	     i = map_next(&x->sessions, map_text(hex), &at)) {
		const struct doc *d = &docs[DOC_SESSION].items[i];

		JV_EACH(s, jv_get(doc_json(d), "sessions")) {
			if (strcmp(jv_str(s, "hash"), hex) != 0 || !is_believed(x, s) ||
			    !session_lasts(s, docs, d->name, now_us))
				continue;
			*ret = (struct credential){ .user = d->name, .is_proven = p != NULL };
			snprintf(ret->session, sizeof ret->session, "%s", jv_str(s, "id"));
			return true;
		}
	}
	return false;
}

static bool find_token(const struct credentials *x, const struct docs *docs, const char *hex,
                       int64_t now_us, struct credential *ret)
{
	size_t at = 0;

	for (uint32_t i = map_first(&x->tokens, map_text(hex), &at); i != MAP_NONE;
	     i = map_next(&x->tokens, map_text(hex), &at)) {
		const struct doc *d = &docs[DOC_TOKEN].items[i];
		const struct jval *t = doc_json(d);

		if (strcmp(jv_str(t, "hash"), hex) != 0 || token_over(t, now_us / US_PER_S))
			continue;
		*ret = (struct credential){ .user = jv_str(t, "owner"),
			                    .token = d->name,
			                    .is_app = jv_true(t, "app") };
		return true;
	}
	return false;
}

bool credential_find(const struct credentials *x, const struct docs *docs, const char *secret,
                     int64_t now_us, int64_t mono_us, struct credential *ret)
{
	char hex[CREDENTIAL_HEX];

	credential_hash(secret, hex);
	const struct proof *p = proof_of(x, docs, hex, mono_us);
	if (find_session(x, docs, hex, now_us, p, ret) || find_token(x, docs, hex, now_us, ret))
		return true;
	if (!p || !p->is_alone)
		return false;
	*ret = (struct credential){ .user = p->user, .is_proven = true };
	return true;
}

void credential_prove(struct credentials *x, const struct proof *p)
{
	struct proof *at = &x->proofs[0];

	for (size_t i = 0; i < PROOFS_MAX; i++) {
		struct proof *one = &x->proofs[i];

		if (strcmp(one->hash, p->hash) == 0) { /* proven anew */
			at = one;
			break;
		}
		at = one->until_us < at->until_us ? one : at;
	}
	*at = *p;
}
