/* The group that a service manager delegates: found, stepped aside in, lent to the keeper.
 *
 *     …/sirdar-jobkeeper.service           the service's user owns it (the launcher), lends it
 *       |- sirdar-keeper                   launcher and keeper
 *       `- sirdar-jobs-…/NUMBER            a group per job (tree.c), the keeper's own
 *
 * A process goes from the launcher's group into a job's by the keeper's descriptor of it; the
 * kernel judges by who opened that, and wants him to write cgroup.procs of the group above both
 * (cgroup_procs_write_permission() in kernel/cgroup/cgroup.c). */
#include "broker/keeper/delegate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/check.h"
#include "util/fs.h"
#include "util/log.h"

enum { SMALL_FILE = 65536, PATH_BYTES = 4200 };
#define ASIDE     "/sirdar-keeper"
#define LENT_MODE 0020

/* The one that was given, also after the keeper stepped aside in it. */
static bool own_group(char to[DELEGATE_BYTES])
{
	struct buf text;
	bool found = false;

	buf_init(&text);
	if (fs_read("/proc/self/cgroup", SMALL_FILE, &text, NULL) == 0) {
		const char *at = strstr(buf_str(&text), "0::/");
		if (at && (at == buf_str(&text) || at[-1] == '\n')) {
			snprintf(to, DELEGATE_BYTES, "%.*s", (int)strcspn(at + 3, "\n"), at + 3);
			found = true;
		}
	}
	buf_done(&text);
	size_t n = found ? strlen(to) : 0, aside = strlen(ASIDE);
	if (n > aside && strcmp(to + n - aside, ASIDE) == 0)
		to[n - aside] = '\0';
	return found;
}

static bool mount_of_cgroup2(char to[DELEGATE_BYTES])
{
	struct buf text;
	bool found = false;

	buf_init(&text);
	if (fs_read("/proc/self/mounts", SMALL_FILE, &text, NULL) == 0) {
		const char *line = buf_str(&text);
		while (line && *line && !found) {
			char what[256], where[1024], type[64];
			if (sscanf(line, "%255s %1023s %63s", what, where, type) == 3 &&
			    strcmp(type, "cgroup2") == 0) {
				snprintf(to, DELEGATE_BYTES, "%s", where);
				found = true;
			}
			line = strchr(line, '\n');
			line += line ? 1 : 0;
		}
	}
	buf_done(&text);
	return found;
}

/* Nobody but this process is in the group. */
static bool is_alone(const char *group)
{
	char path[PATH_BYTES], me[32];
	struct buf text;

	snprintf(path, sizeof path, "%.4000s/cgroup.procs", group);
	snprintf(me, sizeof me, "%d\n", (int)getpid());
	buf_init(&text);
	bool alone = fs_read(path, SMALL_FILE, &text, NULL) == 0 && strcmp(buf_str(&text), me) == 0;
	buf_done(&text);
	return alone;
}

bool delegate_find(char ret_mount[DELEGATE_BYTES], char ret_group[DELEGATE_BYTES])
{
	return mount_of_cgroup2(ret_mount) && own_group(ret_group);
}

static bool word_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

void delegate_step_aside(const char *mode)
{
	char mount[DELEGATE_BYTES], group[DELEGATE_BYTES], path[PATH_BYTES];

	if (strcmp(mode, "auto") != 0 || !delegate_find(mount, group) || strcmp(group, "/") == 0)
		return;
	snprintf(path, sizeof path, "%s%s", mount, group);
	if (!is_alone(path))
		return;
	snprintf(path, sizeof path, "%s%s" ASIDE, mount, group);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return;
	snprintf(path, sizeof path, "%s%s" ASIDE "/cgroup.procs", mount, group);
	word_put(path, "0");
}

/* --- lending --- */

static bool lend_all(const char *dir, gid_t gid)
{
	static const char *const doors[] = { "/cgroup.procs", "/cgroup.threads",
		                             "/cgroup.subtree_control", "" };
	char path[PATH_BYTES];
	struct stat st;

	for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++) {
		snprintf(path, sizeof path, "%s%s", dir, doors[i]);
		if (stat(path, &st) < 0 || st.st_uid != geteuid() ||
		    chown(path, (uid_t)-1, gid) < 0 ||
		    chmod(path, (st.st_mode & 07777) | LENT_MODE) < 0)
			return false;
	}
	return true;
}

void delegate_lend(const char *mode, gid_t gid, struct delegate_lent *ret_lent)
{
	char mount[DELEGATE_BYTES] = "", group[DELEGATE_BYTES] = "";
	struct delegate_lent lent = { .gid = gid };

	*ret_lent = (struct delegate_lent){ 0 };
	if (strcmp(mode, "off") == 0 || (mode[0] != '/' && !delegate_find(mount, group)))
		return;
	snprintf(lent.dir, sizeof lent.dir, "%s%s", mode[0] == '/' ? mode : mount, group);
	if (lend_all(lent.dir, gid))
		*ret_lent = lent;
}

void delegate_lend_again(const struct delegate_lent *lent)
{
	char path[PATH_BYTES];
	struct stat st;

	CHECK(!lent->dir[0] || lent->dir[0] == '/');
	if (!lent->dir[0])
		return;
	snprintf(path, sizeof path, "%s/cgroup.procs", lent->dir);
	if (stat(path, &st) == 0 && st.st_gid == lent->gid && st.st_mode & LENT_MODE)
		return;
	if (lend_all(lent->dir, lent->gid))
		log_info("launcher.lent_again", "dir=%s", lent->dir);
	else
		log_warn("launcher.not_lent", "dir=%s errno=%d: jobs may not start", lent->dir,
		         errno);
}
