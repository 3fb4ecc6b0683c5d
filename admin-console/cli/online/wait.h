/* wait.h — wait until instances have ended, and show how far they are.
 *
 * Nothing is asked on a clock: the server's stream of events says when to look again. A server that
 * goes away meanwhile is waited for.
 */
#ifndef CLI_WAIT_H
#define CLI_WAIT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "admin-console/cli/base/verb.h"

struct online;

struct waiting {
	int64_t timeout_s; /* 0: as long as it takes */
	bool tells;        /* a line for each that ends */
};

/* --timeout and --follow of a verb, as it has them. */
struct asked;
struct waiting waiting_of(const struct asked *q);
opt_check check_timeout;
#define WAITING(at) \
	{ "timeout", 0,    "TIME", "with --wait: give up after 90s, 30m, 2h ...; exit 6", \
	  TAKE_OWN,  NULL, NULL,   check_timeout, \
	  at }, \
	{ \
		"follow", 0, NULL, "--wait, and a line for each instance that ends", .group = (at) \
	}

/* What one look has found. */
struct sight {
	cJSON *root;         /* owned: the answer, its member `instances` is what follows */
	const cJSON *inside; /* that member */
	long long total, ended, bad, running, waiting, retry, hanged;
	bool is_whole; /* nothing more joins: the command is over */
};

/* A command, and the instances that it makes run, however they end. CLI_OK all well; CLI_FAILED
 * something ended badly; CLI_TIMEOUT; CLI_LET_GO by Ctrl-C: the work goes on. */
int wait_command(struct online *o, const char *id, const struct waiting *w);
/* Instances of lists: paths of GETs, without their page. `again`: the command line that looks
 * again, for people. */
int wait_lists(struct online *o, char *const *paths, size_t n, const char *again,
               const struct waiting *w);

/* sight.c: looks. `since`: of a command, what has ended after that number is wanted. Quiet. */
int sight_of_command(struct online *o, const char *id, const char *since, struct sight *ret);
int sight_of_lists(struct online *o, char *const *paths, size_t n, struct sight *ret);
void sight_done(struct sight *s);
/* Can nothing of it go on by itself? Asks why each waits. */
bool sight_is_stuck(struct online *o, const struct sight *s);

#endif
