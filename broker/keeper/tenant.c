/* The machine's map of projects to users: lines of a file, and numbers that are drawn.
 *
 * Lines are `project: user ...`: the first user is the project's, the others may be named by its
 * tasks. A number is drawn at a project's first start and kept in a file that all who draw append
 * to under a lock; a number that stands there is given to nobody else, whatever becomes of its
 * project, for files of that number may be anywhere. It is synced before the job may start. A line
 * that a crash cut keeps its number.
 */
#include "broker/keeper/tenant.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/fs.h"
#include "util/param.h"

enum { MAP_BYTES_MAX = 1 << 20, PROJECT_BYTES_MAX = 64 };
#define BLANKS " \t\r"

/* --- lines ------------------------------------------------------------------------ */

/* The next word of a line, ended with a zero; NULL: none. */
static char *word_next(char **at)
{
	char *word = *at + strspn(*at, BLANKS);
	size_t n = strcspn(word, BLANKS);

	if (!n)
		return NULL;
	*at = word + n + (word[n] != 0);
	word[n] = 0;
	return word;
}

static bool word_is_user(const char *word)
{
	return !strpbrk(word, "/#:'\"") && !strchr(".-", word[0]) && strcmp(word, "root") != 0 &&
	       strspn(word, "0123456789") < strlen(word);
}

/* Could a project have that name? What lib/sched/name.h says of ASCII; else such a line is
 * nobody's, and silent. */
static bool word_is_project(const char *word)
{
	for (const char *p = word; *p; p++)
		if (!(*p & 0x80) && !isalnum((unsigned char)*p) && !strchr("_.-", *p))
			return false;
	return !strchr(".-0123456789", word[0]) && strlen(word) <= PROJECT_BYTES_MAX;
}

/* One line: users of `project` are returned, one text with blanks; NULL: another project's. */
static int line_read(char *line, const char *project, char **ret_users, const char **ret_wrong)
{
	char *colon = strchr(line, ':'), *at, *word, *users;
	size_t n = 0;

	*ret_users = NULL;
	line += strspn(line, BLANKS);
	if (!line[0] || line[0] == '#')
		return 0;
	*ret_wrong = "want `project: user ...`";
	if (!colon)
		return E_INVALID;
	*colon = 0;
	at = colon + 1;
	users = mem_str(at);
	while ((word = word_next(&at))) {
		*ret_wrong = "want names of users, not root and no numbers";
		if (!word_is_user(word)) {
			free(users);
			return E_INVALID;
		}
		n++;
	}
	word = word_next(&line);
	if (word && (!word_is_project(word) || word_next(&line))) {
		*ret_wrong = "before the colon stands no name that a project may have";
		word = NULL;
	}
	if (n == 0 || !word || (project && strcmp(word, project) != 0)) {
		free(users);
		return n && word ? 0 : E_INVALID;
	}
	*ret_users = users;
	return 0;
}

int tenant_lines(const char *path, const char *project, struct buf *ret_users, struct err *err)
{
	struct buf text;
	struct err why = { 0 };
	int number = 0, r;

	buf_init(&text);
	r = fs_read_trusted(path, MAP_BYTES_MAX, &text, &why);
	if (r < 0)
		r = err_set(err, E_MACHINE, "job_users_file: %.300s", why.text);
	char *at = (char *)(uintptr_t)buf_str(&text), *line;

	while (r == 0 && (line = strsep(&at, "\n"))) {
		const char *wrong = "";
		char *users;

		number++;
		if (line_read(line, project, &users, &wrong) < 0)
			r = err_set(err, E_MACHINE, "job_users_file: %.250s:%d: %s", path, number,
			            wrong);
		else if (users && project && ret_users->len)
			r = err_set(err, E_MACHINE,
			            "job_users_file: %.250s:%d: a second line of project %.64s",
			            path, number, project);
		else if (users) {
			buf_puts(ret_users, users);
			buf_putc(ret_users, ' ');
		}
		free(users);
	}
	buf_done(&text);
	return r;
}

struct line {
	const char *project, *users; /* of the text; users as they stand, with blanks */
};

/* Those of a file that reads, cut in place. */
static struct line *lines_cut(char *text, size_t *ret_n)
{
	struct line *lines = NULL;
	char *line;

	*ret_n = 0;
	while ((line = strsep(&text, "\n"))) {
		char *colon = strchr(line, ':');

		line += strspn(line, BLANKS);
		if (!colon || line[0] == '#')
			continue;
		*colon = 0;
		line[strcspn(line, BLANKS)] = 0;
		lines = mem_grow(lines, *ret_n + 1, sizeof *lines);
		lines[(*ret_n)++] = (struct line){ line, colon + 1 };
	}
	return lines;
}

/* A user of a's line that is in b's too; NULL: none. Owned. */
static char *line_shared(const struct line *a, const struct line *b)
{
	char *copy = mem_str(a->users), *at = copy, *word, *found = NULL;

	while (!found && (word = word_next(&at)))
		found = tenant_pick(b->users, word);
	free(copy);
	return found;
}

int tenant_check(const char *path, struct err *err)
{
	struct buf text;
	size_t n = 0;

	buf_init(&text);
	int r = tenant_lines(path, NULL, &text, err);
	buf_clear(&text);
	if (r == 0)
		r = fs_read_trusted(path, MAP_BYTES_MAX, &text, err);
	struct line *lines = r == 0 ? lines_cut((char *)(uintptr_t)buf_str(&text), &n) : NULL;
	for (size_t i = 0; i < n && r == 0; i++)
		for (size_t k = 0; k < i && r == 0; k++) {
			char *user = line_shared(&lines[k], &lines[i]);

			if (user)
				r = err_set(err, E_CONFLICT,
				            "job_users_file: %.200s: the projects %.64s and %.64s "
				            "have one user, %.32s: neither is kept from the other",
				            path, lines[k].project, lines[i].project, user);
			free(user);
		}
	free(lines);
	buf_done(&text);
	return r;
}

char *tenant_pick(const char *users, const char *wish)
{
	char *copy = mem_str(users), *at = copy, *word, *found = NULL;

	while (!found && (word = word_next(&at)))
		if (!wish[0] || strcmp(word, wish) == 0)
			found = mem_str(word);
	free(copy);
	return found;
}

/* --- numbers ---------------------------------------------------------------------- */

/* The number of a project in the text, else the first of the range that nobody has; 0: none. */
static uint32_t uid_pick(char *text, const char *project, uint32_t first, uint32_t last,
                         bool *ret_known)
{
	size_t n = (size_t)last - first + 1;
	bool *taken = mem_array(n, sizeof *taken);
	uint32_t found = 0;
	char *line;

	*ret_known = false;
	while (!*ret_known && (line = strsep(&text, "\n"))) {
		char *after;
		unsigned long number = strtoul(line, &after, 10);

		if (number < first || number > last)
			continue;
		taken[number - first] = true;
		*ret_known = *after == ' ' && strcmp(after + 1, project) == 0;
		if (*ret_known)
			found = (uint32_t)number;
	}
	for (size_t i = 0; i < n && !found; i++)
		if (!taken[i])
			found = first + (uint32_t)i;
	free(taken);
	return found;
}

static int uid_append(int fd, const struct buf *text, uint32_t uid, const char *project)
{
	bool is_cut = text->len && buf_at(text)[text->len - 1] != '\n';
	char *line = mem_fmt("%s%" PRIu32 " %s\n", is_cut ? "\n" : "", uid, project);
	size_t n = strlen(line);
	bool is_kept = write(fd, line, n) == (ssize_t)n && fdatasync(fd) == 0;

	free(line);
	return is_kept ? 0 : -1;
}

int tenant_number(const char *uids, const char *file, const char *project, uint32_t *ret_uid,
                  struct err *err)
{
	uint32_t first, last;
	bool is_known = false;
	struct buf text;
	int fd, r;

	if (!param_uids_parse(uids, &first, &last))
		return err_set(err, E_MACHINE, "job_uids is '%s'", uids);
	fd = open(file, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0) {
		r = err_sys(err, E_MACHINE, errno, "%.250s", file);
		if (fd >= 0)
			close(fd);
		return r;
	}
	buf_init(&text);
	r = fs_read_trusted(file, MAP_BYTES_MAX, &text, err);
	if (r == 0) {
		char *copy = mem_strn(buf_str(&text), text.len);

		*ret_uid = uid_pick(copy, project, first, last, &is_known);
		free(copy);
		if (!*ret_uid)
			r = err_set(err, E_NOT_FOUND,
			            "project %.64s has no user on this machine: all numbers of "
			            "job_uids (%s) are given to others: widen it",
			            project, uids);
		else if (!is_known && uid_append(fd, &text, *ret_uid, project) < 0)
			r = err_sys(err, E_MACHINE, errno, "%.250s", file);
	}
	buf_done(&text);
	close(fd);
	return r < 0 && r != E_NOT_FOUND ? E_MACHINE : r;
}
