/* seed.h — what the interfaces of the seeds share: a table of paths with their fields, and the
 * steps of a call.
 *
 * A path is a row: least role, fields, what is read on a thread that reads, what is done then. The
 * handlers of a seed translate fields to commands, queries and rows, and back; nothing is
 * decided here that the API's own handlers decide otherwise. Threads: `work` disk, the rest
 * HTTP.
 */
#ifndef CGI_SEEDS_SEED_H
#define CGI_SEEDS_SEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgi/http/call.h"
#include "cgi/server/names.h"
#include "cgi/server/net.h"
#include "sched/when.h"

struct cJSON;
struct param_cgi;
struct reader;
struct store_doc;

enum seed_type {
	SEED_INT,   /* a number, or its digits as text */
	SEED_BIG,   /* the same; may pass 2^53, kept as text */
	SEED_TRUTH, /* true or false, also as text, 0, 1 */
	SEED_TEXT,
	SEED_INTS,  /* a list of numbers, one number, or text with commas */
	SEED_TEXTS, /* a list of texts */
	SEED_MAP,   /* an object, or its JSON as text; values are text or numbers */
};

struct seed_field {
	const char *name; /* NULL ends the list */
	enum seed_type type;
	bool is_needed;
	int64_t lo, hi; /* of a number, or bytes of a text; both 0: not bounded */
};

#define SEED_FIELDS_MAX 16
#define SEED_NAME_BYTES 65
#define SEED_ROWS_MAX   100 /* of one page */

struct seed_row {
	const char *path;
	enum role role;
	struct seed_field fields[SEED_FIELDS_MAX];
	call_work_fn work;  /* on a thread that reads; NULL: nothing is read */
	call_fn then;       /* on the HTTP thread */
	bool is_credential; /* no token may: auth_credential() */
};

/* What `extra` of such a call is. */
struct seed {
	struct log_ask log; /* first: net_log() finds it */
	const struct seed_row *row;
	struct inst_key key;
	uint32_t id; /* of a task, broker or user */
	uint32_t workflow;
	bool found;
	bool leaves; /* retired when what runs of it has ended */
	char name[NAMES_MAX];
	char owner[256];
	char secret[128], password[520];
	int64_t since;
	size_t at, n;
	struct seed_log {
		struct inst_key key;
		uint32_t broker, generation, attempt;
		int32_t exit_code;
		uint8_t state, reason;
		int64_t begun_us, ended_us, changed_us;
	} rows[SEED_ROWS_MAX];
	void (*row_begin)(struct call *c, const struct seed_log *l); /* of seed_outputs() */
	call_fn rows_done;
};

/* The body of such a call, JSON or a form, into c->json. E_INVALID */
int seed_body(struct call *c);
/* c->err in the words of the seed. False: it has none, the one shape serves. */
bool seed_error(struct call *c, int *ret_status);

/* The row of the call's path; fields checked, and in c->json by the names of the row.
 * E_INVALID */
int seed_begin(struct call *c, const struct seed_row *rows, size_t n, bool underscores);
/* A value that is no field of the call, by the bounds of the row's field of that name. E_INVALID */
int seed_bounds(struct call *c, const struct seed_row *row, const char *name,
                const struct cJSON *v);
/* A call without arguments, whose body (c->json) is an object of the seed's own. E_INVALID */
int seed_plain(struct call *c);
/* Read what the row reads, then go on. */
int seed_go(struct call *c);
struct seed *seed_of(struct call *c);
/* The project that the setting of this seed names, "": none. `flags`: of a route, with one of
 * RF_SEED. Borrowed. */
const char *seed_setting(const struct param_cgi *p, unsigned flags);
/* The same of the call's route. */
const char *seed_project(const struct call *c);

/* The same, or what a former release made of the text where that is in force. Thread: disk. */
void seed_name_of(const struct call *c, struct reader *r, const char *text,
                  char ret[SEED_NAME_BYTES]);

/* page and page_size as rows to pass over and to take. E_INVALID */
int seed_page(struct call *c, int64_t *ret_skip, int64_t *ret_take);

/* For read_doc(), with the seed as ctx: its name, and whether it is in force. */
int seed_take(void *ctx, const struct store_doc *d);

/* A command; takes `args` over. */
int seed_ask(struct call *c, const char *kind, struct cJSON *args, call_fn then);
/* retire, drain and their like, of one name. `key`: "tasks" or "brokers". */
int seed_command_on(struct call *c, const char *kind, const char *key, const char *name,
                    call_fn then);
/* `kill` of the instances in s->rows. */
int seed_kill(struct call *c, call_fn then);
/* Apply a document. Takes `doc` over. `from`: its plans begin then; NULL: now. */
int seed_apply(struct call *c, struct cJSON *doc, const char *from, call_fn then);

/* The task's not finished instances, newest first, into s->rows. Thread: disk. */
int seed_unfinished(struct call *c, struct reader *r);
/* Its newest instances that have begun, from `skip` on; all tasks' when s->id is 0. */
int seed_begun(struct call *c, struct reader *r, int64_t skip, int64_t take);
struct seed_log seed_log_of(const struct instance *i);
/* Each of s->rows into c->details: what `row_begin` opens and writes, and with `has_output` as
 * "output" the last 64 KiB of its standard output, and of its errors; then `done`. */
int seed_outputs(struct call *c, void (*row_begin)(struct call *c, const struct seed_log *l),
                 bool has_output, call_fn done);
/* By s->id, or by s->name when that is not "": the rest of a task into s. E_NOT_FOUND */
int seed_task(struct call *c, struct reader *r);

/* "2017-09-24 12:00:00" in UTC; "" for 0. */
void seed_time(int64_t us, char ret[WHEN_TEXT]);
/* The address of "127.0.0.1:7420" or "[::1]:7420" without its port; "" for NULL. */
void seed_ip(const char *address, char ret[80]);

#endif
