/* call.h — one HTTP request, from its first byte to the end of its answer.
 *
 * Made and freed on the HTTP thread. While it waits for an answer (of the BaseServer, of the
 * store, of the password hash) its connection is suspended: the HTTP thread does not touch
 * it, and the actor that has it may write `err`, `out` and what its work needs. The actor
 * gives it back with call_resume(), exactly once, also when it ends; so when the actors have
 * stopped no connection is suspended.
 */
#ifndef CGI_CALL_H
#define CGI_CALL_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/actor.h"
#include "util/buf.h"
#include "util/err.h"

#include "cgi/http/role.h"
#include "cgi/http/turns.h"
#include "sched/instance.h"

struct cJSON;

/* Is the answer worth keeping: that of one instance, of a list of them? */
enum fresh_kind { FRESH_NO, FRESH_ONE, FRESH_LIST };
struct call;
struct cgi;
struct doc_noun;
struct person;
struct purse;
struct reader;
struct sight;
struct token;
struct watch;

#define CALL_PARAMS_MAX  3
#define CALL_PARAM_BYTES 300

/* What a route does. 0: the answer is queued or will be; negative: the error is in c->err. */
typedef int (*call_fn)(struct call *c);
/* What runs on a thread that reads the store; `r` is NULL for work that needs no store. */
typedef int (*call_work_fn)(struct call *c, struct reader *r);
/* What work on a thread that reads answers that is not done: c->work goes on in a later turn. */
#define WORK_MORE 1

/* What a route shows who reads some projects only (cgi/who/sight.h); each row has it. */
enum scope {
	SCOPE_UNSAID,   /* a row has none: routes_add() refuses it */
	SCOPE_PUBLIC,   /* nothing of anybody's */
	SCOPE_OWN,      /* what is the caller's own */
	SCOPE_SHARED,   /* what is everybody's: machines, types, calendars, pools, channels */
	SCOPE_WHOLE,    /* the whole installation: refused */
	SCOPE_NAMED,    /* what its path names: the name begins with a project */
	SCOPE_INSTANCE, /* the instance whose id is in its path: its task is looked up before */
	SCOPE_ASKED,    /* what its arguments or its body name: cgi/server/gate.h */
	SCOPE_FILTERED, /* rows and answers of which the store and the gate let his through */
};

struct route {
	const char *method, *path; /* path: "/api/v1/tasks/{name}", {x...} takes the rest */
	enum role role;            /* least role; ROLE_NONE: public */
	enum scope scope;          /* of what it shows, for who reads some projects only */
	unsigned flags;            /* enum route_flag */
	call_fn run;
};

enum route_flag {
	RF_BODY = 1,  /* wants a JSON body */
	RF_PLAIN = 2, /* errors as one line of text */
	/* Interfaces of the seeds: JSON or a form, there while their setting is not empty. */
	RF_CHIN = 4,
	RF_JARVIS2 = 8,
	RF_CRONTAB = 16,
	RF_ECTS = 32,
	/* A person's browser goes there by itself: errors are a page where it asks for one. */
	RF_PAGE = 64,
	RF_LARGE = 128,      /* a body of apply_bytes_max, of a few at once */
	RF_CREDENTIAL = 256, /* changes passwords, tokens, people, secrets: auth_credential() */
	RF_ENROL = 512,      /* also for who has yet to set up a second factor (who/factor.h) */
	RF_SEED = RF_CHIN | RF_JARVIS2 | RF_CRONTAB | RF_ECTS,
};

struct call {
	struct letter letter; /* first: calls travel as letters while suspended */
	struct cgi *cgi;
	struct MHD_Connection *conn;
	struct watch *watch; /* of the connection; borrowed */
	char *raw;           /* request target as it came */
	const char *target;  /* the same where libmicrohttpd read it: for guard_head() */
	char *method;
	const struct route *route;
	char params[CALL_PARAMS_MAX][CALL_PARAM_BYTES]; /* decoded */
	char request_id[33];
	char address[48]; /* of the client, as proxy_judge() sets it; as the next two */
	char host[264];
	bool https;
	bool begun, refused, suspended, answered, streaming;
	bool large;      /* counts among those of applies_max ... */
	bool is_large;   /* ... and among its purse's */
	size_t body_max; /* bytes */

	const char *actor; /* who asks; "" before authentication */
	char actor_text[136];
	enum role role;
	bool by_cookie;
	bool may_credential;         /* auth_credential() asks: a session, no token */
	bool must_enrol;             /* may do nothing but set up a second factor */
	int64_t factor;              /* mark of the one that was shown; 0: none */
	struct purse *purse;         /* who/budget.h: what is booked for it; NULL: nothing */
	bool is_stream;              /* booked as a stream */
	char tries[64];              /* whose password is being tried; "": nobody's */
	char user[64];               /* the person behind it; "" a token of nobody's */
	unsigned rights;             /* enum right */
	const struct person *person; /* held; NULL: admin, or a token of nobody's */
	const struct token *token;   /* held; NULL: a session, or a token of this cgi alone */
	char credential[72]; /* what he showed, as the server knows it: goes with commands; "" */
	const char *via;     /* static: how one came in */
	const struct doc_noun *noun; /* of handle_docs.c */
	struct sight *sight;         /* held; NULL: the caller reads everything */
	bool is_answered;            /* c->out, or the error, is the server's: cgi->shown */
	call_fn after_gate;          /* c->then, while the store is asked first */

	char **normal; /* arguments in normal form C, where they came in another */
	size_t n_normal;
	struct buf body;    /* of the request */
	struct cJSON *json; /* parsed body, or NULL */
	struct buf out;     /* of the answer */
	struct err err;
	char place[120], hint[240];
	struct buf details;    /* JSON that goes with an error, or empty */
	int status;            /* of a good answer; 0: 200 */
	int error_status;      /* of an error; 0: as err.def says */
	int retry_after_s;     /* 0: no such header */
	char allow[64];        /* methods, with 405 */
	struct buf ended;      /* ids of sessions, "a","b": the server is to end them */
	char cookie[200];      /* Set-Cookie, or "" */
	char etag[24];         /* of a definition: its version in quotes, or "" */
	uint64_t number;       /* of the stream; 0: unknown */
	enum fresh_kind fresh; /* worth keeping: cgi/server/fresh.h */
	struct inst_key fresh_key;

	/* What is waited for. */
	int (*then)(struct call *c); /* on the HTTP thread, after the wait; NULL: answer `out` */
	call_fn after;               /* of a handler that waits more than once */
	call_work_fn work;
	bool names; /* `work` shows names of ids, and may be run once more: some may be new */
	int64_t deadline_us; /* monotonic */
	int64_t began_us;    /* the same */
	uint64_t ask_id;
	const char *ask_kind;
	bool ask_command, ask_dry, ask_sign_in;
	struct buf ask_args;
	bool in_pieces; /* ask_args are larger than a frame: under way in pieces */
	size_t sent;    /* of them, bytes */
	char ask_request[80];
	struct call *next;               /* in the waiting list of an actor */
	struct turn turn;                /* while it waits for a reader of the store */
	void *extra;                     /* of the handler; freed with free() */
	void (*extra_done)(void *extra); /* what it holds is freed by; NULL: nothing */
};

/* Wait for the BaseServer. `args` is JSON (copied). Thread: HTTP. */
int call_query(struct call *c, const char *kind, const char *args);
int call_command(struct call *c, const char *kind, const char *args, bool dry_run,
                 const char *request_id);
/* Somebody signs in: docs/protocol-json.md. With c->credential his session is proven anew. */
int call_sign_in(struct call *c, const char *args);
/* Wait for a piece of a log: `extra` begins with a struct log_ask. */
int call_log(struct call *c);
/* Wait for work on a thread that reads the store, or on the one that hashes passwords. */
int call_read(struct call *c, call_work_fn work);
int call_hash(struct call *c, call_work_fn work);
/* Or on the one that waits for a directory or a provider (cgi/who/ways.h). */
int call_way(struct call *c, call_work_fn work);
/* Or on the one that looks through logs. */
int call_search(struct call *c, call_work_fn work);
/* Actors: the wait is over. The call is the HTTP thread's again. */
void call_resume(struct call *c);

/* An argument of the query string in normal form C, as names are kept, or NULL. Borrowed. "a=" is
 * "". */
const char *call_arg(struct call *c, const char *name);
/* A number argument. E_INVALID names it and its range. */
int call_arg_int(struct call *c, const char *name, int64_t def, int64_t lo, int64_t hi,
                 int64_t *ret);
int call_arg_bool(struct call *c, const char *name, bool *ret);
/* E_INVALID that names every argument not in the NULL-terminated list. */
int call_args_only(struct call *c, const char *const *names);
/* The same of the members of the body; names what is allowed. */
int call_members_only(struct call *c, const char *const *names);
/* true or false; *ret is kept when the member is absent. E_INVALID */
int call_truth_member(struct call *c, const char *key, bool *ret);
const char *call_header(struct call *c, const char *name);
/* Is a Content-Type (or NULL) this one, with or without parameters? */
bool call_has_type(const char *given, const char *type);
/* The body as JSON into c->json: an object, strictly read. E_INVALID */
int call_json(struct call *c);
/* Set place and hint of the error to come, and return err_set(). */
__attribute__((format(printf, 4, 5))) int call_fail(struct call *c, int code, const char *place,
                                                    const char *fmt, ...);

/* Answers; each queues exactly one. */
int reply_json(struct call *c, int status); /* c->out */
/* The bytes packed as the client takes them; NULL: as they are. */
struct MHD_Response *reply_packed(struct call *c, const void *p, size_t n);
int reply_as_json(struct call *c, int status, struct MHD_Response *r); /* takes r over */
int reply_error(struct call *c);                                       /* c->err */
int reply_bytes(struct call *c, int status, const char *type, const char *data, size_t n);
int reply_to(struct call *c, const char *to); /* 302, with the cookie */
/* Takes a response over; adds the headers that all have. */
int reply_queue(struct call *c, int status, struct MHD_Response *r);

#endif
