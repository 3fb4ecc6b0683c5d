/* auth_impl.h — shared by auth*.c only. */
#ifndef CGI_AUTH_IMPL_H
#define CGI_AUTH_IMPL_H

#include <pthread.h>
#include <stddef.h>

#include "cgi/who/auth.h"

struct token;

#define TOKENS_MAX        1000
#define SESSIONS_MAX      256
#define SESSIONS_EACH_MAX 20 /* of one person: his own oldest goes */
#define TRIES_MAX         512
#define TRIES_WHO         120
#define HASH_BYTES        32

/* A token of this cgi's own, made on its machine: a file. */
struct local_token {
	char name[64];
	enum role role;
	bool is_app;   /* the key of an app */
	bool by_login; /* admin's, made over the network while no server answered */
	unsigned char hash[HASH_BYTES];
	int64_t created_s, expires_s; /* expires 0: never */
};

struct session {
	char user[64];                  /* "": a free place */
	char id[SESSION_ID_MAX];        /* what people call it by; lets nobody in */
	unsigned char hash[HASH_BYTES]; /* of the secret */
	char address[48], agent[200];   /* who signed in, from where; printable ASCII */
	int64_t since;                  /* of the person when it began */
	int64_t factor;                 /* mark of the second factor that was shown; 0: none */
	int64_t changing_us;            /* until then `factor` may be another: admin changes his */
	bool of_server;  /* a person's: the server keeps it; admin's is this cgi's alone */
	bool was_kept;   /* it was among those that the server keeps ... */
	bool is_ended;   /* ... and was ended here, which the server may not know yet */
	const char *via; /* static */
	int64_t begun_us, used_us; /* monotonic */
};

struct tries {
	char who[TRIES_WHO];
	int wrong; /* forgotten after a quiet time */
	int open;  /* booked, not judged yet */
	int64_t last_us, next_us;
};

struct auth {
	struct cgi *cgi;
	pthread_mutex_t mu; /* guards all below */
	bool has_own;       /* an `admin` of its own, of an earlier release; set at the start */
	char password[128]; /* his, as crypto_pwhash_str() writes it */
	char dummy[128];    /* to spend the same time on unknown users */
	struct local_token *tokens;
	size_t tokens_n;
	int64_t tokens_seen_us, tokens_mtime_us; /* wall clock: when read, the directory's */
	struct session sessions[SESSIONS_MAX];
	bool sessions_loaded, sessions_changed; /* since they were written */
	int64_t sessions_kept_us;               /* monotonic: when they were */
	pthread_mutex_t save_mu;                /* one writer of the file; taken before mu */
	struct tries tries[TRIES_MAX];
};

/* The session with this secret, refreshed, or NULL. Locked. */
struct session *session__find(struct auth *a, const char *secret);
/* It was ended here, and the server knows. Locked. */
bool session__told(const struct auth *a, const struct session *s);
/* Of whom is the secret? */
struct session_found {
	char user[64];
	const char *via; /* static */
	bool of_server;
	int64_t since;  /* that the person must have; negative: he was looked at already */
	int64_t factor; /* mark of the second factor that was shown; 0: none */
};
/* 1, 0: nobody's, or not any more; E_AGAIN. Refreshes it; locks. */
int session__look(struct auth *a, const char *secret, struct session_found *ret);
void session__csrf(const char *secret, char ret_csrf[AUTH_TEXT_MAX]);
const char *session__cookie(const struct call *c);
const char *session__via(const char *text); /* the same word, static, or NULL */
/* Those of the last run that have not ended; a file that does not read is said and left. */
void sessions__load(struct auth *a);
/* Forget those of an `admin` of this cgi. Before any thread runs. */
void sessions__drop_own(struct auth *a);
/* Is a session over by its age? */
bool session__over(const struct auth *a, const struct session *s, int64_t now_us);

/* auth_secret.c: a fresh secret as text, with the prefix; and the hash of one. */
void secret__new(const char *prefix, char ret_text[AUTH_TEXT_MAX]);
void secret__hash(const char *text, unsigned char ret_hash[HASH_BYTES]);
/* The token, or key of an app, with this secret, of the store: 1 held, 0 none or expired,
 * E_AGAIN. */
int token__kept(struct auth *a, const char *text, bool is_app, const struct token **ret);
/* The same of this cgi's own. False: none, or expired. Locks. */
bool token__find(struct auth *a, const char *text, bool is_app, struct local_token *ret);

#endif
