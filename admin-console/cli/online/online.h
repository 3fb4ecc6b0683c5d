/* online.h — what the commands that ask a server share.
 *
 * Functions that return an exit code (enum cli_exit) have said what was wrong, on stderr.
 */
#ifndef CLI_ONLINE_H
#define CLI_ONLINE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "admin-console/cli/base/answer.h"
#include "admin-console/cli/base/verb.h"
#include "admin-console/cli/online/wait.h"

struct buf;

struct online {
	struct cli *cli;
	void *curl;
	char *base;  /* URL without a slash at its end */
	char *token; /* or NULL */
	/* Of online_session(), and spoken instead of the token; "" without one. */
	char cookie[120], csrf[72];
	bool signs_in; /* by this request: without the token, its cookie is kept */
	bool quiet;    /* errors are the caller's to say */
	bool once;     /* a server that is away is not asked again */
	/* NULL, or called now and then while an answer is waited for: how much of the body is
	 * sent. */
	void (*waits)(void *ctx, size_t sent, size_t all);
	void *waits_ctx;
	long status;                        /* of the last answer */
	char next[32], end[8], attempt[24]; /* X-Log-Next, -End, -Attempt of the last answer */
	char followed[24]; /* logs -f: the generation that was unfinished at its begin, or "" */
};

/* Server and token from options, environment, or what `sirdar login` stored. */
int online_open(struct cli *cli, struct online *ret);
void online_close(struct online *o);

/* One request. `body` NULL: none. ret_answer: the JSON, the caller's to cJSON_Delete(). A
 * request that is safe to repeat is repeated when the server is away for a moment. */
int online_call(struct online *o, const char *method, const char *path, const cJSON *body,
                cJSON **ret_answer);
/* Sign in as the token's person for the requests to come, as a token changes no credential.
 * online_call() does it by itself when it is told so. `password` NULL: asked for.
 * online_close() signs out. */
int online_session(struct online *o, const char *password);
/* GET of a text. */
int online_text(struct online *o, const char *path, struct buf *ret);
/* GET of an event stream; `each` gets event name and data of each message, and ends the
 * stream with anything but 0, which is returned. So does `tick`, called several times a second;
 * NULL: nothing is. */
int online_stream(struct online *o, const char *path,
                  int (*each)(void *ctx, const char *event, const char *data),
                  int (*tick)(void *ctx), void *ctx);

/* Build paths: `&name=value`, escaped. NULL value: nothing. */
void path_arg(struct buf *path, const char *name, const char *value);
void path_states(struct buf *path, const char *words); /* of instances, as people say them */
void path_dates(struct buf *path, const char *dates);  /* one, or a range A..B: from and to */
void path_part(struct buf *path, const char *text);    /* escaped, slashes kept */

/* Where login keeps its file; owned. NULL without a home. */
char *online_token_path(void);

/* One line on stderr where no task of the project is there: its name may be a slip. */
void project_tell(struct online *o, const char *project);

/* Is this word an instance's id, as lists print it: "17.1772323200"? No task or date is called
 * so. */
bool instance_id_is(const char *text);
/* The id of an instance by task and run_date, or an id given as the task; without a run_date
 * that of the task's only run. Owned. */
int online_resolve(struct online *o, const char *task, const char *run_date, char **ret_id);

/* --web: the address of its page in the console. `generation`, `attempt`: NULL, none said. */
#define OPT_WEB \
	{ \
		"web", 'w', NULL, "only print the address of its page in the console" \
	}
int web_print(struct online *o, const char *id, const char *generation, const char *attempt);

/* --- commands (command_send.c) */

struct sending {
	const char *kind;
	cJSON *args;            /* owned by the caller */
	const char *request_id; /* NULL: a fresh one */
	const struct words *of; /* what it acts on where no instances are counted; NULL: see args */
	bool dry_run, yes, wait; /* --dry-run, --yes, --wait */
	struct waiting how;      /* with `wait` */
};

void request_id_new(char ret[33]);
/* Preview where the kind asks for it, question, send, print, wait. */
int command_send(struct online *o, const struct sending *s);
/* Of dates that come due at once: ": 1 runs, catchup skips 310", or "". Borrowed until the next. */
const char *left_out_of(const cJSON *e);

/* --- commands, told (command_told.c) */

bool command_is_over(const cJSON *command);
/* Does it make instances run, so that who waits for it waits for those? */
bool command_makes_run(const cJSON *command);
void command_print(const cJSON *command);
/* The same, with what was refused. `of`: see struct sending */
int command_tell(struct online *o, const cJSON *command, const struct words *of);
int command_refused(struct online *o, const cJSON *command); /* what was */
int command_code(const cJSON *command); /* of one that is over: all of it, nothing, or a part */
/* The same, and says what was refused. */
int command_ended(struct online *o, const cJSON *command);
/* It changed nothing: what was asked for is on its way already, or had finished and was left. Says
 * so; CLI_OK when it did something, or was to leave those. */
int command_unchanged(const cJSON *command);

/* --- documents of target servers (target.c) */

struct sent_targets {
	const cJSON *list; /* of targets_take() */
	cJSON *changes;    /* what changes is appended, as `apply` tells it */
	bool dry_run;      /* change nothing */
	bool again;        /* send passwords also to servers that have one */
};

/* Compare each with the server's and make it so, in the order of the list; stops at the first that
 * is refused. */
int targets_send(struct online *o, const struct sent_targets *s);

/* --- documents (apply.c): the command `apply`, its changes printed */

int apply_send(struct cli *cli, cJSON *args, bool dry_run);

#endif
