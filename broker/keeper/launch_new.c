/* What a KeeperStart asks for, checked and copied into a `struct launch`.
 *
 * Nothing of the message is used after this, and nothing is started here. The environment is made
 * anew: a few names of ours, then the job's own, then what tells whose job it is; the last of a
 * name wins, so that a job cannot hide its token. A job runs as our own user; where we are root, as
 * another one with a number of JOB_UID_MIN or more, and as root only where the settings of the
 * machine say so and no user is named. A number ("#59000") is a user without an account. Files
 * given to a job may be secrets: they are wiped when freed.
 */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/keeper/box.h"
#include "broker/keeper/launch_private.h"
#include "broker/keeper/launcher.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/param.h"

/* Below are the system's own users, with files and services of theirs. */
enum { ENV_OWN_MAX = 16, GROUPS_MAX = 256, FILES_MAX = 256, PASSWD_BYTES = 16384 };

static const char *const env_through[] = { "PATH", "LANG", "LC_ALL",  "LC_CTYPE", "TZ",
	                                   "HOME", "USER", "LOGNAME", "SHELL" };
#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static bool env_is(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* The last of a name wins: what the job was given goes over what comes from here. */
static void env_set(char **env, size_t *n, char *owned)
{
	char *eq = strchr(owned, '=');

	CHECK(eq && eq > owned); /* words_check() has seen the job's own */
	size_t len = (size_t)(eq - owned);

	for (size_t i = 0; i < *n; i++)
		if (strncmp(env[i], owned, len + 1) == 0) {
			free(env[i]);
			env[i] = owned;
			return;
		}
	env[(*n)++] = owned;
}

static void env_make(struct launch *l, const Sirdar__KeeperStart *m, const char *state_dir,
                     const struct passwd *pw)
{
	size_t n = 0;

	l->env = mem_array(m->n_env + ENV_OWN_MAX + 1, sizeof *l->env);
	l->env[n++] = mem_str("PATH=" PATH_DEFAULT);
	for (size_t i = 0; i < sizeof env_through / sizeof env_through[0]; i++) {
		const char *value = getenv(env_through[i]);
		if (value)
			env_set(l->env, &n, mem_fmt("%s=%s", env_through[i], value));
	}
	if (l->place)
		env_set(l->env, &n, mem_fmt("TMPDIR=%s/" LAUNCH_TMP, l->place));
	if (pw) {
		env_set(l->env, &n, mem_fmt("HOME=%s", pw->pw_dir));
		env_set(l->env, &n, mem_fmt("USER=%s", pw->pw_name));
		env_set(l->env, &n, mem_fmt("LOGNAME=%s", pw->pw_name));
		env_set(l->env, &n, mem_fmt("SHELL=%s", pw->pw_shell));
	}
	for (size_t i = 0; i < m->n_env; i++)
		env_set(l->env, &n, mem_str(m->env[i]));
	env_set(l->env, &n, mem_fmt("SIRDAR_TOKEN=%016" PRIx64, m->token));
	env_set(l->env, &n, mem_fmt("SIRDAR_KEEPER=%s", state_dir));
	if (l->files_n)
		env_set(l->env, &n, mem_fmt("SIRDAR_FILES=%s", l->files_at));
	CHECK(n <= m->n_env + ENV_OWN_MAX);
}

static void paths_make(struct launch *l)
{
	const char *path = "";
	size_t n = 2, most;

	for (char **e = l->env; *e; e++)
		if (env_is(*e, "PATH"))
			path = *e + 5;
	for (const char *p = path; *p; p++)
		n += *p == ':';
	most = n;
	l->paths = mem_array(n + 1, sizeof *l->paths);
	if (strchr(l->argv[0], '/')) {
		l->paths[0] = mem_str(l->argv[0]);
		return;
	}
	n = 0;
	while (*path) {
		size_t len = strcspn(path, ":");
		if (len)
			l->paths[n++] = mem_fmt("%.*s/%s", (int)len, path, l->argv[0]);
		path += len + (path[len] == ':');
	}
	CHECK(n <= most);
}

/* A number that the machine keeps for a project: whoever got an account with it would be it. */
static int uid_take(struct launch *l, struct passwd *pw, char *text, struct err *err)
{
	struct passwd *found = NULL;
	char *after;
	unsigned long uid = strtoul(l->user + 1, &after, 10);

	if (after == l->user + 1 || *after || uid > INT32_MAX)
		return err_set(err, E_INVALID, "user %.64s is no number", l->user);
	if (getpwuid_r((uid_t)uid, pw, text, PASSWD_BYTES, &found) == 0 && found)
		return err_set(err, E_MACHINE,
		               "number %lu of job_uids has an account on this machine, %.64s: set "
		               "job_uids to numbers that have none",
		               uid, found->pw_name);
	*pw = (struct passwd){ .pw_uid = (uid_t)uid, .pw_gid = (gid_t)uid };
	pw->pw_name = l->user + 1;
	pw->pw_dir = l->place ? l->place : l->cwd;
	pw->pw_shell = (char *)(uintptr_t) "/bin/sh";
	return 0;
}

static int user_read(struct launch *l, struct passwd *pw, char *text, struct err *err)
{
	struct passwd *found = NULL;

	if (l->user[0] == '#')
		return uid_take(l, pw, text, err);
	if (getpwnam_r(l->user, pw, text, PASSWD_BYTES, &found) != 0 || !found)
		return err_set(err, E_MACHINE, "no user %.64s on this machine", l->user);
	return 0;
}

static int groups_find(struct launch *l, struct err *err)
{
	int n = GROUPS_MAX;

	l->groups = mem_array(GROUPS_MAX, sizeof *l->groups);
	if (l->user[0] == '#')
		return 0;
	if (getgrouplist(l->user, l->gid, l->groups, &n) < 0)
		return err_set(err, E_INVALID, "user %.64s has more than %d groups", l->user,
		               GROUPS_MAX);
	/* A group of the system's (docker, disk, adm) is a way to be root, or a daemon. */
	for (int i = 0; i < n; i++)
		if (l->groups[i] >= JOB_UID_MIN && l->groups[i] <= INT32_MAX)
			l->groups[l->groups_n++] = l->groups[i];
	return 0;
}

static int user_find(struct launch *l, const Sirdar__KeeperStart *m, struct passwd *pw, char *text,
                     struct err *err)
{
	int r = user_read(l, pw, text, err);

	if (r < 0)
		return r;
	l->uid = pw->pw_uid;
	l->gid = pw->pw_gid;
	l->is_other_user = geteuid() == 0 || l->uid != geteuid();
	if (!l->is_other_user)
		return 0;
	if (geteuid() != 0)
		return err_set(err, E_FORBIDDEN, "the keeper may not run jobs as %.64s", l->user);
	if (l->uid < JOB_UID_MIN || l->gid < JOB_UID_MIN)
		return err_set(err, m->own_user ? E_MACHINE : E_FORBIDDEN,
		               "user %.64s has number %u and group %u: jobs run as users from %d "
		               "on, never as root",
		               l->user, (unsigned)l->uid, (unsigned)l->gid, JOB_UID_MIN);
	return groups_find(l, err);
}

/* The user that root runs jobs as is named, but where the machine's settings say "as root". */
static int nobody_check(const Sirdar__KeeperStart *m, struct err *err)
{
	if (m->run_as[0] || m->as_root || geteuid() != 0)
		return 0;
	return err_set(err, E_MACHINE, "the jobkeeper is root, and the start names no user");
}

/* Its directory below the place of all: where it works, unless the job has another one. */
static void place_set(struct launch *l, const Sirdar__KeeperStart *m)
{
	if (!m->run_as[0] || m->places[0] != '/' || geteuid() != 0)
		return;
	l->place = mem_fmt("%s/%s", m->places, m->run_as + (m->run_as[0] == '#'));
	if (!m->own_cwd)
		return;
	free(l->cwd);
	l->cwd = mem_str(l->place);
}

static int words_check(const Sirdar__KeeperStart *m, struct err *err)
{
	if (m->n_argv == 0 || !m->argv[0][0])
		return err_set(err, E_INVALID, "no program");
	for (size_t i = 0; i < m->n_env; i++)
		if (m->env[i][0] == '=' || !strchr(m->env[i], '='))
			return err_set(err, E_INVALID, "environment entry %zu is not NAME=value",
			               i + 1);
	if (m->n_file > FILES_MAX)
		return err_set(err, E_INVALID, "%zu files, the most is %d", m->n_file, FILES_MAX);
	for (size_t i = 0; i < m->n_file; i++)
		if (!fs_name_ok(m->file[i]->name, 64))
			return err_set(err, E_INVALID, "name of file %zu", i + 1);
	if (strchr(m->run_as, '/') || m->run_as[0] == '.')
		return err_set(err, E_INVALID, "name of the user");
	if (m->cwd[0] && m->cwd[0] != '/')
		return err_set(err, E_INVALID, "directory %.200s is not absolute", m->cwd);
	return 0;
}

static void new_copy(struct launch *l, const Sirdar__KeeperStart *m, const char *files_dir)
{
	l->argv = mem_array(m->n_argv + 1, sizeof *l->argv);
	for (size_t i = 0; i < m->n_argv; i++)
		l->argv[i] = mem_str(m->argv[i]);
	l->cwd = mem_str(m->cwd[0] ? m->cwd : "/");
	l->user = mem_str(m->run_as);
	l->umask = m->umask ? m->umask & 0777 : 022;
	l->is_landlocked = m->landlock;
	l->no_new_privs = m->no_new_privs || m->landlock; /* Landlock wants it */
	l->own_cwd = m->own_cwd;
	l->limits = mem_array(m->n_limit + 1, sizeof *l->limits);
	for (l->limits_n = 0; l->limits_n < m->n_limit; l->limits_n++) {
		struct launch_limit *to = &l->limits[l->limits_n];
		to->resource = (int)m->limit[l->limits_n]->resource;
		to->value.soft = m->limit[l->limits_n]->soft;
		to->value.hard = m->limit[l->limits_n]->hard;
	}
	l->files_at = mem_fmt("%s/%016" PRIx64, files_dir, m->token);
	l->files = mem_array(m->n_file + 1, sizeof *l->files);
	for (l->files_n = 0; l->files_n < m->n_file; l->files_n++) {
		const ProtobufCBinaryData *from = &m->file[l->files_n]->content;
		struct launch_file *to = &l->files[l->files_n];
		to->name = mem_str(m->file[l->files_n]->name);
		to->bytes = from->len;
		to->data = mem_new(from->len + 1);
		if (from->len)
			memcpy(to->data, from->data, from->len);
	}
}

/* The launcher judges once more, at the start itself. */
static void user_take(struct launch *l, const Sirdar__KeeperStart *m,
                      const struct launcher_answer *who, struct passwd *pw)
{
	l->is_other_user = true;
	l->uid = who->uid;
	l->project = mem_str(m->project);
	l->wish = mem_str(m->run_as);
	l->place = mem_str(who->place);
	*pw = (struct passwd){ .pw_uid = who->uid };
	pw->pw_name = (char *)(uintptr_t)who->user;
	pw->pw_dir = (char *)(uintptr_t)who->home;
	pw->pw_shell = (char *)(uintptr_t)who->shell;
}

int launch_new(const Sirdar__KeeperStart *m, const char *state_dir, const char *files_dir,
               const struct launcher_answer *who, struct launch **ret_launch, struct err *err)
{
	struct launch *l;
	struct passwd pw;
	char *text = NULL;
	int r = words_check(m, err);

	if (r == 0 && !who)
		r = nobody_check(m, err);
	if (r < 0)
		return r;
	l = mem_new(sizeof *l);
	new_copy(l, m, files_dir);
	if (who)
		user_take(l, m, who, &pw);
	else
		place_set(l, m);
	if (l->user[0] && !who) {
		text = mem_new(PASSWD_BYTES);
		r = user_find(l, m, &pw, text, err);
		if (r < 0)
			goto out;
	}
	env_make(l, m, state_dir, text || who ? &pw : NULL);
	paths_make(l);
	r = m->box ? launch_box(l, err) : 0;
	if (r < 0)
		goto out;
	*ret_launch = l;
	l = NULL;
out:
	free(text);
	launch_free(l);
	return r;
}

int launch_box(struct launch *l, struct err *err)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
	size_t n = 0, n_paths = 0, n_argv = 0;

	if (!l->is_other_user || !l->place || len <= 0)
		return err_set(err, E_MACHINE,
		               "isolation: box: the job has no user and no directory of its own: "
		               "this machine does not separate projects");
	while (l->paths[n_paths])
		n_paths++;
	while (l->argv[n_argv])
		n_argv++;
	l->box_program = mem_strn(path, (size_t)len);
	l->box_words = mem_array(BOX_WORDS + n_paths + n_argv + 1, sizeof *l->box_words);
	l->box_words[n++] = mem_str("jobkeeper");
	l->box_words[n++] = mem_str(BOX_OPTION);
	l->box_words[n++] = mem_fmt("%d", BOX_FD);
	l->box_words[n++] = mem_str(l->place);
	l->box_words[n++] = mem_str(l->files_n ? l->files_at : "");
	l->box_words[n++] = mem_fmt("%zu", n_paths);
	CHECK(n == BOX_WORDS);
	for (size_t i = 0; i < n_paths; i++)
		l->box_words[n++] = mem_str(l->paths[i]);
	for (size_t i = 0; i < n_argv; i++)
		l->box_words[n++] = mem_str(l->argv[i]);
	return 0;
}

static void words_free(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

void launch_free(struct launch *l)
{
	if (!l)
		return;
	words_free(l->argv);
	words_free(l->env);
	words_free(l->paths);
	words_free(l->box_words);
	free(l->box_program);
	free(l->cwd);
	free(l->user);
	free(l->place);
	free(l->project);
	free(l->wish);
	free(l->files_at);
	free(l->groups);
	free(l->limits);
	for (size_t i = 0; i < l->files_n; i++) {
		explicit_bzero(l->files[i].data, l->files[i].bytes);
		free(l->files[i].data);
		free(l->files[i].name);
	}
	free(l->files);
	free(l);
}

void launch_files_remove(const char *files_dir, uint64_t token)
{
	char *path = mem_fmt("%s/%016" PRIx64, files_dir, token);
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' || (e->d_name[1] && e->d_name[1] != '.'))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(path);
	free(path);
}
