/* What a plugin leaves behind in its process: threads, descriptors, memory, changed manners. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins-sdk/conformance/conformance.h"
#include "util/check.h"

enum { LEAVING_MS = 2000, STEP_MS = 5, SIGNALS = 64, DIRECTORY_BYTES = 4096 };

extern char **environ;

static size_t entries(const char *dir)
{
	DIR *d = opendir(dir);
	size_t n = 0;

	if (!d)
		return 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

struct traces traces_now(void)
{
	return (struct traces){ .threads = entries("/proc/self/task"),
		                .descriptors = entries("/proc/self/fd") };
}

void traces_compare(struct check *c)
{
	struct traces now = traces_now();

	CHECK(!c->is_open);
	/* A thread that was told to end may need a moment; one that stays is a finding. */
	int most_ms = atomic_load(&c->report->promises[P_threads].is_broken) ? 0 : LEAVING_MS;

	for (int ms = 0; now.threads > c->before.threads && ms < most_ms; ms += STEP_MS) {
		poll(NULL, 0, STEP_MS);
		now = traces_now();
	}
	seen(c, P_threads);
	seen(c, P_descriptors);
	if (now.threads > c->before.threads)
		broke(c, P_threads, "%zu threads more after close() than before open()",
		      now.threads - c->before.threads);
	if (now.descriptors > c->before.descriptors)
		broke(c, P_descriptors, "%zu descriptors more after close() than before open()",
		      now.descriptors - c->before.descriptors);
	if (now.descriptors < c->before.descriptors)
		broke(c, P_descriptors, "%zu descriptors that were open before open() are closed",
		      c->before.descriptors - now.descriptors);
}

size_t traces_heap_bytes(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

void children_compare(struct check *c)
{
	siginfo_t info = { 0 };

	seen(c, P_children);
	/* Those of spawn() have been reaped by their jobs. */
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		broke(c, P_children, "there is a child of the plugin's own");
	else
		CHECK(errno == ECHILD);
}

/* --- manners --- */

struct manners {
	struct sigaction actions[SIGNALS];
	mode_t umask;
	char directory[DIRECTORY_BYTES];
	char locale[64];
	uint64_t environment;
	struct stat standard[3];
};

static struct manners before, now;

static uint64_t environment_sum(void)
{
	uint64_t sum = 14695981039346656037u;

	for (char **e = environ; e && *e; e++)
		for (const char *p = *e; *p; p++)
			sum = (sum ^ (unsigned char)*p) * 1099511628211u;
	return sum;
}

static void manners_read(struct manners *m)
{
	memset(m, 0, sizeof *m);
	for (int s = 1; s < SIGNALS; s++)
		(void)sigaction(s, NULL, &m->actions[s]); /* those of the C library refuse */
	m->umask = umask(0);
	umask(m->umask);
	if (!getcwd(m->directory, sizeof m->directory))
		m->directory[0] = 0;
	snprintf(m->locale, sizeof m->locale, "%s", setlocale(LC_ALL, NULL));
	m->environment = environment_sum();
	for (int fd = 0; fd < 3; fd++)
		(void)fstat(fd, &m->standard[fd]);
}

void manners_before(void)
{
	manners_read(&before);
}

void manners_compare(struct check *c)
{
	manners_read(&now);
	seen(c, P_manners);
	for (int s = 1; s < SIGNALS; s++)
		if (memcmp(&now.actions[s].sa_sigaction, &before.actions[s].sa_sigaction,
		           sizeof now.actions[s].sa_sigaction) != 0)
			broke(c, P_manners, "signal %d is handled in another way", s);
	if (now.umask != before.umask)
		broke(c, P_manners, "the umask is 0%03o, was 0%03o", now.umask, before.umask);
	if (strcmp(now.directory, before.directory) != 0)
		broke(c, P_manners, "the directory is %.100s", now.directory);
	if (strcmp(now.locale, before.locale) != 0)
		broke(c, P_manners, "the locale is %s", now.locale);
	if (now.environment != before.environment)
		broke(c, P_manners, "the environment is another");
	for (int fd = 0; fd < 3; fd++)
		if (now.standard[fd].st_ino != before.standard[fd].st_ino ||
		    now.standard[fd].st_dev != before.standard[fd].st_dev)
			broke(c, P_manners, "descriptor %d is another file, or closed", fd);
}
