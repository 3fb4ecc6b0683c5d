/* params.h — a job's parameters, only to the holder of its lease (the seed's parameter
 * requests).
 *
 * Asked at each grant of a job whose parameters name what is not in its definition, and by
 * runners while they run; what is secret never travels with the job itself.
 */
#ifndef BASESERVER_PARAMS_H
#define BASESERVER_PARAMS_H

#include "baseserver/ledger/ledger.h"
#include "rt/actor.h"
#include "sched/instance.h"

struct err;
struct param_value;
struct params;
struct secrets;
struct store;
struct store_doc;
struct task;
struct thread;

/* A question; the very letter comes back through `answered`. Values are those of the
 * definition, run-time ones and outputs of parents over them (SEMANTICS section 6), macros
 * replaced. */
struct param_question {
	struct letter letter;
	struct actor *reply_to;
	void (*answered)(struct letter *l, void *self);
	uint32_t session;
	uint64_t id;
	struct inst_key key; /* of the lease the worker has checked */
	bool wants_params;   /* the instance has IF_PARAMS */
	char **names;        /* NULL-ended, heap; none: all */
	struct param_value *values;
	size_t n;
	char **given; /* target servers whose passwords are among the values; heap */
	size_t n_given;
	int code; /* E_INVALID, E_LIMIT: the job cannot run, `text` says why; E_BUSY: ask again;
	           * E_SECRET: a secret cannot be had before wait_us, `text` says which */
	char text[400];
	int64_t wait_us;
	/* of a job that waits for its values: the worker's own */
	const struct task *def; /* counted, or NULL */
	struct instance inst;
	int64_t since_us; /* mono */
	/* of no job: what one with `server: target` would have, and the password; heap, or NULL */
	char *target, *project;
	/* of no job either: all secrets of a channel, for the notifier; heap, or NULL */
	char *channel;
	uint32_t version; /* of its document, as it was read */
	char **may;       /* projects that the peer keeps to, NULL-ended, heap; NULL: all */
	/* the params actor's own */
	struct data_question *data; /* answered, or NULL */
};
void param_question_free(struct param_question *q);
void param_question_clear(struct param_question *q); /* of its values */

struct params_secrets {
	const char *key_file;    /* vault.h, copied; NULL: none is sealed */
	struct secrets *outside; /* those from outside, borrowed */
};

/* Loads the parameters of projects and of all, and the target servers.
 *
 *   errors  those of the store, E_CORRUPT */
int params_new(struct thread *th, struct ledger *ledger, struct store *store,
               const struct params_secrets *of, struct params **ret_params, struct err *err);
void params_free(struct params *p);                         /* NULL is fine */
int params_ask(struct params *p, struct param_question *q); /* thread: any */
/* Parameters of a project or of all, or a target server, are different from now on: the document
 * as it is stored, copied. Thread: any. */
int params_tell(struct params *p, const struct store_doc *d);

#endif
