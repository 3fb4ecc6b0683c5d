/* watch.h — a verb's answer shown again whenever the server says that something of it changed.
 *
 * Nothing is asked on a clock: the server's stream of events says when to look again.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "admin-console/cli/base/verb.h"

/* --watch of a verb whose answer changes with `these`: instances of the tasks that its words
 * name; with "instances": any, for what one waits for may be another's; with "commands". */
#define OPT_WATCH(these) \
	{ \
		"watch", 0, NULL, "show it again whenever it changes, until Ctrl-C", TAKE_OWN, \
			these \
	}

/* Run the verb again and again. CLI_LET_GO by Ctrl-C; else what the verb ended with. */
int watch_run(struct asked *q);

#endif
