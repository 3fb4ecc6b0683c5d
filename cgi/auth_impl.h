/* auth_impl.h — shared by auth*.c only. */
#ifndef CGI_AUTH_IMPL_H
#define CGI_AUTH_IMPL_H

#include <pthread.h>
#include <stddef.h>

#include "cgi/auth.h"

struct token;

#define TOKENS_MAX   1000
#define SESSIONS_MAX 256
#define TRIES_MAX    512
#define HASH_BYTES   32

/* A token of this cgi's own, made on its machine: a file. */
struct local_token {
	char name[64];
	enum role role;
	bool is_app; /* the key of an app */
	unsigned char hash[HASH_BYTES];
	int64_t created_s, expires_s; /* expires 0: never */
};

struct session {
	unsigned char hash[HASH_BYTES]; /* of the secret */
	char csrf[AUTH_TEXT_MAX];
	char user[64];
	int64_t since;             /* of the person when it began */
	const char *via;           /* static */
	int64_t begun_us, used_us; /* monotonic; begun 0: free place */
};

struct tries {
	char who[64];
	int wrong; /* in a row, forgotten after a quiet time */
	int64_t last_us, next_us;
};

struct auth {
	struct cgi *cgi;
	pthread_mutex_t mu; /* guards all below */
	char password[128]; /* as crypto_pwhash_str() writes it */
	char dummy[128];    /* to spend the same time on unknown users */
	struct local_token *tokens;
	size_t tokens_n;
	int64_t tokens_seen_us, tokens_mtime_us; /* wall clock: when read, the directory's */
	struct session sessions[SESSIONS_MAX];
	struct tries tries[TRIES_MAX];
};

/* A fresh secret as text, with the prefix. */
void secret_new(const char *prefix, char ret_text[AUTH_TEXT_MAX]);
void secret_hash(const char *text, unsigned char ret_hash[HASH_BYTES]);
/* The token, or key of an app, with this secret, of the store: 1 held, 0 none or expired,
 * E_AGAIN. */
int token_kept(struct auth *a, const char *text, bool is_app, const struct token **ret);
/* The same of this cgi's own. False: none, or expired. Locks. */
bool token_find(struct auth *a, const char *text, bool is_app, struct local_token *ret);

#endif
