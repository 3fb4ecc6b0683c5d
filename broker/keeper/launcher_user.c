/* From a project to a user: lines and numbers of the map, accounts of /etc/passwd.
 *
 * No name service is asked: its modules would run with the launcher's rights. A number of the range
 * that has an account is refused, for whoever has that account would be the project.
 */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/keeper/launcher.h"
#include "broker/keeper/tenant.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/param.h"

enum { GROUPS_MAX = 256, LINE_BYTES = 4096 };

/* By name, or (NULL) by number. False: there is none. */
static bool account_find(const char *name, uid_t uid, struct passwd *ret, char text[LINE_BYTES])
{
	FILE *f = fopen("/etc/passwd", "re");
	struct passwd *found = NULL;

	while (f && fgetpwent_r(f, ret, text, LINE_BYTES, &found) == 0)
		if (name ? strcmp(ret->pw_name, name) == 0 : ret->pw_uid == uid)
			break;
		else
			found = NULL;
	if (f)
		fclose(f);
	return found;
}

int launcher_account(const char *text, uid_t *ret_uid, gid_t *ret_gid, struct err *err)
{
	struct passwd entry;
	char line[LINE_BYTES], *after;
	unsigned long uid = strtoul(text, &after, 10), gid;

	if (after > text && *after == ':') {
		const char *second = after + 1;

		gid = strtoul(second, &after, 10);
		if (after == second || *after || uid > INT32_MAX || gid > INT32_MAX)
			return err_set(err, E_NOT_FOUND, "'%.64s' is no UID:GID", text);
		*ret_uid = (uid_t)uid;
		*ret_gid = (gid_t)gid;
		return 0;
	}
	if (!account_find(text, 0, &entry, line))
		return err_set(err, E_NOT_FOUND, "no user %.64s in /etc/passwd", text);
	*ret_uid = entry.pw_uid;
	*ret_gid = entry.pw_gid;
	return 0;
}

/* Groups of the system's (docker, disk) would make root or a daemon of a job. */
static void groups_find(struct launcher_user *u)
{
	FILE *f = fopen("/etc/group", "re");
	static char text[1 << 16];
	struct group entry, *found;

	while (f && u->groups_n < GROUPS_MAX &&
	       fgetgrent_r(f, &entry, text, sizeof text, &found) == 0) {
		bool is_in = false;

		for (char **m = entry.gr_mem; *m; m++)
			is_in |= strcmp(*m, u->name) == 0;
		if (is_in && entry.gr_gid >= JOB_UID_MIN && entry.gr_gid <= INT32_MAX)
			u->groups[u->groups_n++] = entry.gr_gid;
	}
	if (f)
		fclose(f);
}

static int account_take(const char *name, const char *project, bool is_wish,
                        struct launcher_user *ret, struct err *err)
{
	struct passwd entry;
	char line[LINE_BYTES];
	int code = is_wish ? E_FORBIDDEN : E_NO_USER;

	if (!account_find(name, 0, &entry, line))
		return err_set(err, code,
		               "project %.64s has no user on this machine: its line names %.64s, "
		               "who has no account in /etc/passwd",
		               project, name);
	if (entry.pw_uid < JOB_UID_MIN || entry.pw_gid < JOB_UID_MIN || entry.pw_uid > INT32_MAX ||
	    entry.pw_gid > INT32_MAX)
		return err_set(err, code,
		               "project %.64s has no user on this machine: its line names %.64s, "
		               "number %u and group %u: jobs run as users from %d on, never as "
		               "root",
		               project, name, (unsigned)entry.pw_uid, (unsigned)entry.pw_gid,
		               JOB_UID_MIN);
	ret->uid = entry.pw_uid;
	ret->gid = entry.pw_gid;
	snprintf(ret->name, sizeof ret->name, "%s", name);
	snprintf(ret->home, sizeof ret->home, "%s", entry.pw_dir);
	snprintf(ret->shell, sizeof ret->shell, "%s", entry.pw_shell);
	groups_find(ret);
	return 0;
}

static int number_take(const struct launcher_settings *s, const char *project,
                       struct launcher_user *ret, struct err *err)
{
	struct passwd entry;
	char line[LINE_BYTES];
	uint32_t uid = 0;
	int r = tenant_number(s->uids, s->uids_file, project, &uid, err);

	if (r == E_NOT_FOUND)
		err->code = r = E_NO_USER;
	if (r < 0)
		return r;
	CHECK(uid >= JOB_UID_MIN && uid <= INT32_MAX);
	if (account_find(NULL, uid, &entry, line))
		return err_set(err, E_MACHINE,
		               "number %u of job_uids has an account on this machine, %.64s: set "
		               "job_uids to numbers that have none",
		               (unsigned)uid, entry.pw_name);
	ret->uid = ret->gid = uid;
	snprintf(ret->name, sizeof ret->name, "%u", (unsigned)uid);
	snprintf(ret->home, sizeof ret->home, "%s/%u", s->places, (unsigned)uid);
	snprintf(ret->shell, sizeof ret->shell, "/bin/sh");
	return 0;
}

static int none_found(const struct launcher_settings *s, const char *project, const char *wish,
                      const char *users, struct err *err)
{
	if (wish[0])
		return err_set(
			err, E_FORBIDDEN,
			"project %.64s may not run jobs as %.64s on this machine: it has "
			"%s%.200s; take run_as out, or name the user in its line of %s%.200s",
			project, wish, users[0] ? "" : "nobody of its own", users,
			s->lines_file[0] ? "" : "the file of --job-users-file", s->lines_file);
	return err_set(err, E_NO_USER,
	               "project %.64s has no user on this machine: give it a line in the "
	               "jobkeeper's --job-users-file %.200s, or set --job-uids",
	               project[0] ? project : "(the server, a release older, names none)",
	               s->lines_file);
}

int launcher_user(const struct launcher_settings *s, const char *project, const char *wish,
                  struct launcher_user *ret, struct err *err)
{
	struct buf users;
	int r = 0;

	memset(ret, 0, sizeof *ret);
	buf_init(&users);
	if (s->lines_file[0] && project[0])
		r = tenant_lines(s->lines_file, project, &users, err);
	char *name = r == 0 && users.len ? tenant_pick(buf_str(&users), wish) : NULL;
	if (name)
		r = account_take(name, project, wish[0], ret, err);
	else if (r == 0 && !wish[0] && project[0] && s->uids[0])
		r = number_take(s, project, ret, err);
	else if (r == 0)
		r = none_found(s, project, wish, users.len ? buf_str(&users) : "", err);
	free(name);
	buf_done(&users);
	return r;
}
