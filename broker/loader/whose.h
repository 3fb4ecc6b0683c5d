/* whose.h — as which user a project's jobs run on this machine, by the machine's own map.
 *
 * The tenant is the project: two projects with one user can read each other's files and secrets.
 * The server names the project and what the task wishes; neither goes beyond the map.
 */
#ifndef LOADER_WHOSE_H
#define LOADER_WHOSE_H

#include <stdbool.h>

struct err;
struct param_taskbroker;

/* What it is looked up in: a copy of the settings. */
struct whose {
	char *lines_file; /* job_users_file */
	char *uids, *uids_file;
	bool is_listed; /* `users` has the wish */
	bool as_root;
	bool is_others; /* the jobkeeper of keeper_dir judges by its own map */
};

void whose_copy(struct whose *w, const struct param_taskbroker *s, const char *wish);
void whose_done(struct whose *w);

/* The user of a project's job.
 *
 *   project   "": the server does not say; NULL: of no project, as a guest
 *   wish      whom the task names; "": nobody
 *   ret_user  "": the broker's own; "#59000": a number without an account; where the jobkeeper's
 *             launcher judges, the wish; owned
 *   ret_own   the map chose, not the task
 *   errors    E_FORBIDDEN the wish goes beyond the map; E_NOT_FOUND the map has nobody for the
 *             project; E_MACHINE it does not read; each with the place and the remedy
 */
int whose_find(const struct whose *w, const char *project, const char *wish, char **ret_user,
               bool *ret_own, struct err *err);

#endif
