/* As which user a project's jobs run: lines of a file, else a number of the range.
 *
 * Where the broker is not root every job is its own user's. Root looks into the map (tenant.h) at
 * each start, so that what people change there counts from the next job on. All loaders of this
 * machine draw numbers from one STATE/job_uids. The jobkeeper refuses a number that has an account.
 * A line whose user has no account, or is one of the system's, leaves its project without a user.
 */
#include "broker/loader/whose.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/keeper/tenant.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/param.h"

void whose_copy(struct whose *w, const struct param_taskbroker *s, const char *wish)
{
	*w = (struct whose){
		.lines_file = mem_str(s->job_users_file),
		.uids = mem_str(s->job_uids),
		.uids_file = mem_fmt("%s/job_uids", s->state_dir),
		.as_root = s->jobs_as_root,
		.is_others = s->keeper_dir[0],
	};
	for (size_t i = 0; i < s->users.n; i++)
		w->is_listed |= wish[0] && !strcmp(s->users.items[i], wish);
}

void whose_done(struct whose *w)
{
	free(w->lines_file);
	free(w->uids);
	free(w->uids_file);
}

static bool is_own_user(const char *name)
{
	struct passwd entry, *found = NULL;
	char text[2048];

	return getpwnam_r(name, &entry, text, sizeof text, &found) == 0 && found &&
	       found->pw_uid == geteuid();
}

/* Not root: there is but one user. What `users` has besides, the jobkeeper refuses. */
static int find_unprivileged(const struct whose *w, const char *wish, char **ret_user,
                             struct err *err)
{
	bool is_own = !wish[0] || is_own_user(wish);

	if (!is_own && !w->is_listed)
		return err_set(err, E_FORBIDDEN,
		               "this machine may not run jobs as %.64s: its broker is not root, "
		               "so that all jobs are its own user's",
		               wish);
	*ret_user = mem_str(is_own ? "" : wish);
	return 0;
}

static int wish_refused(const struct whose *w, const char *project, const char *wish,
                        const char *users, struct err *err)
{
	if (!project)
		return err_set(err, E_FORBIDDEN,
		               "guest.user is '%.64s', want one of this machine's `users`", wish);
	return err_set(
		err, E_FORBIDDEN,
		"project %.64s may not run jobs as %.64s on this machine: it has %s%.200s; take "
		"run_as out, or name a user of its line in %s%.200s",
		project, wish,
		users[0]     ? ""
		: w->uids[0] ? "a number of job_uids"
			     : "no user of its own",
		users, w->lines_file[0] ? "" : "the file that job_users_file names", w->lines_file);
}

static int find_number(const struct whose *w, const char *project, char **ret_user, struct err *err)
{
	uint32_t uid = 0;
	int r = tenant_number(w->uids, w->uids_file, project, &uid, err);

	if (r == 0)
		*ret_user = mem_fmt("#%" PRIu32, uid);
	return r;
}

/* A line that names nobody, or a user of the system, is no fault of the machine either: it would
 * keep other projects' jobs from it. */
static int account_check(const char *project, const char *user, struct err *err)
{
	struct passwd entry, *found = NULL;
	char text[2048];

	if (getpwnam_r(user, &entry, text, sizeof text, &found) != 0 || !found)
		return err_set(err, E_NOT_FOUND,
		               "project %.64s has no user on this machine: its line names %.64s, "
		               "who has no account",
		               project, user);
	if (entry.pw_uid < JOB_UID_MIN)
		return err_set(err, E_NOT_FOUND,
		               "project %.64s has no user on this machine: its line names %.64s, "
		               "number %u: jobs run as users from %d on, never as root",
		               project, user, (unsigned)entry.pw_uid, JOB_UID_MIN);
	return 0;
}

static int find_in_map(const struct whose *w, const char *project, const char *wish,
                       const char *users, char **ret_user, struct err *err)
{
	CHECK(wish && users);
	*ret_user = project || wish[0] ? tenant_pick(users, wish) : NULL;
	if (*ret_user) {
		int r = wish[0] ? 0 : account_check(project, *ret_user, err);

		if (r < 0)
			free(*ret_user), *ret_user = NULL;
		return r;
	}
	if (wish[0] && w->is_listed) {
		*ret_user = mem_str(wish);
		return 0;
	}
	if (wish[0] || !project)
		return wish_refused(w, project, wish, users, err);
	if (project[0] && w->uids[0])
		return find_number(w, project, ret_user, err);
	return err_set(err, E_NOT_FOUND,
	               "project %.64s has no user on this machine: give it a line in "
	               "job_users_file%s%.200s, or set job_uids",
	               project[0] ? project : "(the server, a release older, names none)",
	               w->lines_file[0] ? " " : "", w->lines_file);
}

int whose_find(const struct whose *w, const char *project, const char *wish, char **ret_user,
               bool *ret_own, struct err *err)
{
	struct buf users;
	int r = 0;

	*ret_own = !wish[0];
	if (w->is_others && project) {
		*ret_user = mem_str(wish);
		return 0;
	}
	if (geteuid() != 0)
		return find_unprivileged(w, wish, ret_user, err);
	if (w->as_root && !wish[0]) {
		*ret_user = mem_str("");
		return 0;
	}
	buf_init(&users);
	if (w->lines_file[0])
		r = tenant_lines(w->lines_file, project, &users, err);
	if (r == 0)
		r = find_in_map(w, project, wish, buf_str(&users), ret_user, err);
	buf_done(&users);
	return r;
}
