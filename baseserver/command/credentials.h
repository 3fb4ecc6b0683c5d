/* credentials.h — whose is this secret? Sessions of people and tokens by the hash of their secret,
 * which alone is kept; found by one look, however many there are.
 */
#ifndef BASESERVER_CREDENTIALS_H
#define BASESERVER_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"
#include "util/map.h"

struct doc;
struct docs;
struct jval;

enum {
	CREDENTIAL_TEXT = 72, /* a secret as text, with the NUL */
	CREDENTIAL_HEX = 65,  /* its hash, with the NUL */
	SESSION_ID = 17,
	PERSON_NAME = 64,
	PROOFS_MAX = 256
};

/* Somebody's password was right a moment ago, for whoever shows this secret. In memory alone. */
struct proof {
	char hash[CREDENTIAL_HEX]; /* "": a free place */
	char user[PERSON_NAME];
	int64_t since;    /* of the person then */
	int64_t factor;   /* the mark of his second factor then */
	int64_t until_us; /* mono: a clock that is set back makes none last longer */
	bool is_alone;    /* of no session: it is the credential itself, for so long */
};

struct credentials {
	struct map sessions, tokens; /* map_text() of a hash to the index of its document */
	struct proof proofs[PROOFS_MAX];
	/* The server judges ID tokens of this provider: sessions of its people that it did not
	 * judge, of before or of another one, are over. NULL: a face is believed. Borrowed */
	const char *issuer;
	const char *directory; /* the same of the directory at this address */
};

/* What a secret lets somebody in as; borrowed of the documents. */
struct credential {
	const char *user;  /* the person; "" of a token that is nobody's */
	const char *token; /* its name; NULL: it is a session */
	bool is_app;
	bool is_proven;           /* his password was right within the last ten minutes */
	char session[SESSION_ID]; /* "": of no session that is kept */
};

void credentials_init(struct credentials *x);
void credentials_done(struct credentials *x);
/* A document of sessions or of a token is here (`on`), or will be another one. */
void credentials_doc(struct credentials *x, const struct docs *ds, const struct doc *d, bool on);

void credential_hash(const char *secret, char ret_hex[CREDENTIAL_HEX]);
void credential_new(char ret_secret[CREDENTIAL_TEXT]);

/* One in force. now_us: wall. False: there is none, or not any more. */
bool credential_find(const struct credentials *x, const struct docs *docs, const char *secret,
                     int64_t now_us, int64_t mono_us, struct credential *ret);
/* The mark of the second factor that a person with a password of ours has confirmed, another one
 * after each; 0: he has none. */
int64_t factor_marked(const struct docs *docs, const char *user);
/* The session may go on: of a person as he is, whose second factor is the one that it has shown. */
bool session_lasts(const struct jval *session, const struct docs *docs, const char *user,
                   int64_t now_us);
/* The oldest proof gives way. */
void credential_prove(struct credentials *x, const struct proof *p);

#endif
