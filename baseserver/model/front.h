/* front.h — what the BaseServer shows its clients: who is asked, and the letter that asks.
 */
#ifndef BASESERVER_FRONT_H
#define BASESERVER_FRONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baseserver/model/command.h"
#include "rt/actor.h"
#include "util/peer.h"

struct admin;
struct client_request;
struct commander;
struct forecaster;
struct invites;
struct keys;
struct lead;
struct ledger;
struct logkeeper;
struct params;
struct probe;
struct registry;
struct registrar;
struct resolver;
struct sorter;
struct store_doc;
struct thread;
struct timing;
struct turned;
struct worker;

/* Which version of a type's plugin runs where: the first that is meant for a broker. */
struct plugin_choice {
	char text[128]; /* "VERSION ABI SHA256", or "drain" */
	char *where;    /* lines "b:NAME", "g:GROUP"; "" everywhere; heap */
};
struct plugin_choices {
	char type[64];
	struct plugin_choice items[2];
	size_t n; /* 0: TYPE.so */
};
void plugin_choices_free(struct plugin_choices *p); /* NULL is fine */

/* Logs of jobs as they lie on the disk: what is older than their retention, and all. */
struct log_survey {
	int64_t before_us;
	uint64_t old, old_bytes, all, all_bytes; /* instances, bytes */
	bool is_complete;                        /* else there were too many to count in time */
};

/* A workflow as it is in force from now on. */
struct saved_workflow {
	const char *name; /* PROJECT/NAME */
	const char *text; /* NULL: its plan has ended, or it is retired */
	size_t n;
	uint32_t version;  /* 0: the one before; another follows when the last of it has ended */
	const char *actor; /* of the command */
};

enum { FRONT_THREADS_MAX = 64, FRONT_WORKERS_MAX = 64 };

/* What a worker has done since the start. */
struct worker_figures {
	uint64_t jobs, reports, log_refused;
	uint64_t unproven; /* leases that loaders hold now without a proof */
	const struct timing *hand_over;
};

/* The actors that answer clients, filled in by the daemon before threads run; NULL for
 * those there are none of (tests). */
/* How far a command is: what is durable. */
struct command_news {
	uint64_t id;
	int64_t total, done, failed; /* total -1: not known yet */
	enum command_state state;
};

/* The home of logs (baseserver/net/logkeeper_home.h). */
struct log_home_figures {
	bool is_set;
	int code;                        /* below 0: it is away, for that reason */
	uint64_t waiting, waiting_bytes; /* segments that are closed and not there */
	int64_t oldest_us;               /* wall, the last byte of the oldest of them; 0: none */
	uint64_t far;                    /* segments there */
	uint64_t shipped, dropped, failures; /* since the start; dropped: lost */
};

struct front {
	struct commander *commander;
	struct ledger *ledger;
	struct resolver *resolver;
	struct sorter *sorter;
	struct registrar *registrar;
	struct logkeeper *logkeeper;
	struct params *params;
	struct forecaster *forecaster;
	struct lead *lead;
	void (*step_down)(struct lead *l); /* lead_step_down(): where there is a lead */
	struct scrubber *scrubber;
	struct registry *registry;
	/* registry_forget(), or NULL: what it says of nodes of that name. Thread: any. */
	void (*forget_node)(struct registry *r, const char *name);
	/* registry_saved(), or NULL: a workflow has another document, or none. Thread: any. */
	void (*saved)(struct registry *r, const struct saved_workflow *w);
	struct worker *workers[FRONT_WORKERS_MAX];
	size_t n_workers;
	/* worker_drain(), or NULL: tells a worker. Thread: any. */
	void (*drain)(struct worker *w, uint32_t broker, bool drained);
	/* worker_plugin() and worker_release(), or NULL. Thread: any. */
	void (*plugin)(struct worker *w, struct plugin_choices *p); /* owns p */
	void (*release)(struct worker *w, uint32_t broker, const char *type);
	/* worker_news(), or NULL: how far a command is. Thread: any. */
	void (*news)(struct worker *w, const struct command_news *n);
	/* worker_level(), or NULL. Thread: any. */
	void (*level)(struct worker *w, uint32_t broker, const char *type, const char *level);
	/* worker_ask(), or NULL: what a client asks the notifier (session: r->session). Owns r.
	 * Thread: any. */
	void (*ask)(struct worker *w, struct client_request *r);
	/* worker_probe(), or NULL: has a loader try to connect. Owns p. Thread: any. */
	void (*probe)(struct worker *w, struct probe *p);
	/* worker_peer(), or NULL: a peer has another document. Thread: any. */
	void (*peer)(struct worker *w, const struct store_doc *d);
	/* admin_first_over(), or NULL: what lets `admin` in is no longer as it was first. Thread:
	 * any. */
	void (*first_over)(struct admin *a);
	struct admin *admin;
	/* keys_each() of `keys`, or NULL: what keys_file has. Thread: any. */
	void (*each_key)(struct keys *k,
	                 void (*each)(void *ctx, const char *name, enum peer_kind kind), void *ctx);
	struct keys *keys;
	struct invites *invites; /* NULL: nobody can be invited */
	struct turned *turned;   /* NULL: nobody keeps who was turned away */
	bool asks_trust;         /* a project that nobody has said anything of is not trusted */
	/* logkeeper_survey() and whose thread that is, or NULL. */
	void (*survey_logs)(void *logkeeper, struct log_survey *ret);
	struct actor *logs;
	/* logkeeper_home(), or NULL. Thread: any. */
	void (*log_home)(const struct logkeeper *k, struct log_home_figures *ret);
	struct front_thread {
		const char *name;
		struct thread *thread;
		int64_t stall_us;     /* so long without an answer to a ping: it stalls */
	} threads[FRONT_THREADS_MAX]; /* for health */
	size_t n_threads;
	const char *software, *timezone, *store; /* static or borrowed */
	const char *store_dir;                   /* for the free space; NULL: not on a disk */
	const char *log_dir;                     /* the same of the jobs' output */
	/* worker_figures(), or NULL. Thread: any. */
	void (*figures)(const struct worker *w, struct worker_figures *ret);
	int64_t started_us; /* wall */
};

/* Does one of its threads stall? And the answer of the query `health` (docs/protocol-json.md) then,
 * without those that may. now_us: mono. Thread: any. */
bool front_stalls(const struct front *f, int64_t now_us);
struct buf;
void front_health(const struct front *f, int64_t now_us, struct buf *out);

/* A client's command or query, and its answer. */
struct client_request {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	uint32_t session;
	uint64_t id;
	char *kind;
	char *args; /* JSON, NUL-terminated; NULL or "" means {} */
	size_t args_len;
	char *request_id, *actor; /* commands */
	char *credential;         /* the actor's: a session's secret, a token; NULL: none came */
	char *face;               /* the peer that speaks for the actor; NULL: they are one */
	char *projects;           /* that the peer's commands keep to, a line each; NULL: all */
	size_t room;              /* taken by front_room_take() for args; given back with it */
	bool dry_run;
	bool by_socket; /* of who has the server's machine: baseserver/lead/admin.h */
	int code;       /* answer: 0 or an err code */
	char text[400];
	char *body; /* answer: JSON, or NULL */
	size_t body_len;
	uint64_t number; /* answer: the stream's number it shows */
	void *ctx;       /* of who made it */
};

/* Strings are copied. */
struct client_request *client_request_new(const char *kind, const char *args, size_t args_len);
void client_request_free(struct client_request *r); /* NULL is fine */

/* Arguments that come in pieces (frame PIECE): most of one command, of one session, of all that the
 * process has until they are answered. */
enum {
	ARGS_BYTES_MAX = 65 << 20,
	SESSION_ARGS_BYTES_MAX = 130 << 20,
	ALL_ARGS_BYTES_MAX = 260 << 20
};
bool front_room_take(size_t bytes); /* false: there is not so much left. Thread: any */
void front_room_give(size_t bytes); /* thread: any */

#endif
