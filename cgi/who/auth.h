/* auth.h — who asks: sessions of people, tokens of programs.
 *
 * People and their tokens are the server's (cgi/who/people.h). Of an installation that an earlier
 * release began, the state directory has besides `password` (argon2id), an `admin` of this cgi, and
 * `tokens/NAME` (role, SHA-256, created) of those made on this machine, all 0600: they count until
 * the server has a person `admin`. `sessions`: who is signed in, by the SHA-256 of the secret, so
 * that a restart ends nobody's and the file lets nobody in. A mutex guards the state: the HTTP
 * thread asks, the hash thread changes.
 */
#ifndef CGI_AUTH_H
#define CGI_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "cgi/http/role.h"

struct auth;
struct buf;
struct call;
struct cgi;
struct err;

#define AUTH_SECRET_BYTES 32
#define AUTH_TEXT_MAX     72 /* a secret as text, with the NUL */
#define AUTH_HEX_MAX      65 /* a hash in hex, with the NUL */
#define SESSION_ID_MAX    17

/* Makes the state directory. `sessions_life`, `tries` from cgi->param. */
int auth_open(struct cgi *cgi, struct auth **ret_auth, struct err *err);
void auth_close(struct auth *a); /* NULL is fine */

/* The server has a person `admin`, or this cgi never had one: its own password, sessions and tokens
 * are over. */
bool auth_is_handed_over(const struct cgi *cgi);
/* Is this user this cgi's own `admin`, whom no server knows? */
bool auth_is_own(const struct cgi *cgi, const char *user);

/* Fill in c->actor and c->role, or refuse: E_AUTH, E_FORBIDDEN. Thread: HTTP. */
int auth_check(struct auth *a, struct call *c);

/* The same for a secret that came in the body: a session's, or a token. The route's role is not
 * looked at. E_AUTH. */
int auth_check_secret(struct auth *a, struct call *c, const char *secret);
/* The same for the name and the key of an app. E_AUTH. */
int auth_check_app(struct auth *a, struct call *c, const char *name, const char *key);

/* May the caller change a credential (a password, a token, a person, the secret of a target)? A
 * person's session may, and admin's token that somebody made on this machine, where he could write
 * the password's file as well; no other token, whatever its role. E_FORBIDDEN. */
int auth_credential(struct call *c);

/* auth_tries.c: may this account be tried from this address now? Booked until auth_tried(), or
 * auth_try_over() at the end of the call. E_LIMIT with c->retry_after_s. */
int auth_may_try(struct auth *a, struct call *c, const char *user);
void auth_tried(struct auth *a, struct call *c, bool right);
void auth_try_over(struct auth *a, struct call *c); /* nothing, if it was judged */

/* admin's. Hash thread: ~25 ms; of another name as long. E_AUTH. */
int auth_password_verify(struct auth *a, const char *user, const char *password, struct err *err);
/* The hash of a new password, as the store keeps it. Hash thread. E_INVALID: too short. */
int auth_password_hash(const char *password, char ret[128], struct err *err);
/* Replaces admin's password; his sessions go on until auth_sessions_end(). E_INVALID: too short. */
int auth_password_set(struct auth *a, const char *password, struct err *err);

/* A session of c->user begins, which has shown the second factor c->factor: cookie into c->cookie,
 * CSRF token into ret_csrf. It is the server's that c->credential has the secret of; admin's is
 * made here. `since`: of the person, 0 for admin. `via`: how he signed in; static. */
void auth_session_begin(struct auth *a, struct call *c, int64_t since, const char *via,
                        char ret_csrf[AUTH_TEXT_MAX]);
/* A session without a cookie, for auth_check_secret(). */
void auth_session_open(struct auth *a, struct call *c, const char *user, int64_t since,
                       const char *via, char ret_secret[AUTH_TEXT_MAX]);
/* End the session with this secret. False: there is none. ret_user: whose it was. As with all that
 * ends some, c->ended says which of them the server is to be told of. */
bool auth_session_close(struct auth *a, struct call *c, const char *secret, char ret_user[64]);
/* The CSRF token of the call's own session; "" for tokens. */
void auth_session_csrf(struct auth *a, struct call *c, char ret_csrf[AUTH_TEXT_MAX]);
/* End the call's own, and its cookie. False: there is none. */
bool auth_session_end(struct auth *a, struct call *c);

/* The call's own session, for who outlives the call (an open stream). */
struct session_ref {
	bool is_any; /* else it came by a token */
	unsigned char hash[AUTH_SECRET_BYTES];
};
void auth_session_refer(struct auth *a, struct call *c, struct session_ref *ret);
/* Has that session been ended, here, at another face or with its person? False while nobody
 * knows. */
bool auth_session_ended(struct auth *a, const struct session_ref *ref);
/* The id of the call's own session; "" for tokens. */
void auth_session_own(struct auth *a, struct call *c, char ret_id[SESSION_ID_MAX]);
/* Its person's second factor is being changed by himself: until that is over, or for a minute, it
 * is good with whichever. admin's alone: the server keeps those of people, and renews them. */
void auth_session_hold(struct auth *a, const char *id, bool on);
/* Its person has another second factor, or none (0), and has shown it. */
void auth_session_prove(struct auth *a, const char *id, int64_t factor);

/* Items of a JSON list: of this person, NULL: of all; `own` is marked. */
void auth_sessions_put(struct auth *a, const char *user, const char *own, struct buf *out);
/* End those of this person (NULL: of all) with this id (NULL: any), but not `keep` (NULL: none).
 * How many; ret_user: of the last one. In memory only: the answer waits for auth_sessions_save().
 */
int auth_sessions_end(struct auth *a, struct call *c, const char *user, const char *id,
                      const char *keep, char ret_user[64]);
/* Write them down. Hash thread, or the main one. E_IO, E_FULL */
int auth_sessions_save(struct auth *a, struct err *err);
/* The same now and then, for what no answer waits for; `now`: at the end. Main thread. */
void auth_sessions_keep(struct auth *a, bool now);

/* Where the caller may do what needs this role and these rights: a JSON list of projects, the
 * caller's of this; NULL: everywhere. */
char *auth_within(const struct call *c, enum role least, unsigned rights);

/* A fresh token, or key of an app, and the hash that is kept of it. */
void auth_token_new(bool is_app, char ret_token[AUTH_TEXT_MAX], char ret_hex[AUTH_HEX_MAX]);
enum token_kind { TOKEN_MADE_HERE, TOKEN_BY_LOGIN, TOKEN_APP };
struct token_made {
	const char *name;
	enum role role;
	int64_t life_s; /* 0: until it is deleted */
	enum token_kind kind;
};
/* One of this machine alone. Also without a running daemon. Shown once.
 *   errors  E_EXISTS, E_INVALID name, E_IO */
int auth_token_make(const char *state_dir, const struct token_made *t,
                    char ret_token[AUTH_TEXT_MAX], struct err *err);
/* Would such a token let anybody in? Without a running daemon: looks into the store. A store that
 * it cannot read is told on standard error, and refuses nothing.
 *   errors  E_CONFLICT the server keeps `admin`, or this cgi never had one */
int auth_token_may(const struct cgi *cgi, struct err *err);
bool auth_token_is_local(struct auth *a, const char *name, bool is_app);
/* Those that admin made over the network while no server answered: a new password ends them. */
int auth_tokens_end_logins(struct auth *a, struct err *err);
int auth_token_delete(struct auth *a, const char *name, struct err *err);
/* Read the tokens' directory again. */
int auth_tokens_load(struct auth *a, struct err *err);
/* This machine's, as items of a JSON list. */
void auth_tokens_put(struct auth *a, bool apps, struct buf *out);

#endif
