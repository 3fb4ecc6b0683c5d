/* Brings a runner's shared object into this process, or says why not.
 *
 * What is mapped is a private copy in memory, so that a file replaced on disk changes nothing
 * here, and a digest is taken of the very bytes that run. The copy is never unmapped: another
 * version is another process. The struct's size is looked at before any member behind it; a plugin
 * of another major number is refused, one of a higher minor is taken. open() runs later, in
 * plugin_open().
 */
#include "broker/loader/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sirdar/runner.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/check.h"
#include "util/err.h"
#include "util/trust.h"

#define PLUGIN_BYTES_MAX (256LL << 20)

static int copy_into(int to, int from, const char *path, struct err *err)
{
	struct stat st;
	off_t at = 0;

	if (fstat(from, &st) < 0)
		return err_sys(err, E_IO, errno, "%s", path);
	if (!S_ISREG(st.st_mode) || st.st_size == 0 || st.st_size > PLUGIN_BYTES_MAX)
		return err_set(err, E_IO, "%s: not a plugin file", path);
	while (at < st.st_size) {
		ssize_t n = sendfile(to, from, &at, (size_t)(st.st_size - at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, E_IO, errno, "%s", path);
		if (n == 0)
			return err_set(err, E_IO, "%s: became shorter while it was read", path);
	}
	return 0;
}

/* A copy in memory that only this process knows. The descriptor stays open: debuggers and
 * crash reports read the code through it. */
static int copy_private(const char *path, int *ret_fd, struct err *err)
{
	int from = -1, to = -1;
	int r = trust_open(path, &from, err);

	if (r == 0)
		r = trust_judge(from, path, err);
	if (r < 0)
		goto out;
	to = memfd_create("sirdar-runner", MFD_CLOEXEC);
	if (to < 0) {
		r = err_sys(err, E_IO, errno, "memfd_create");
		goto out;
	}
	r = copy_into(to, from, path, err);
	if (r < 0)
		goto out;
	*ret_fd = to;
	to = -1;
out:
	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	return r;
}

/* The size comes first: nothing past it may be read. */
static int check_shape(const struct runner_plugin *p, struct err *err)
{
	if (!p)
		return err_set(err, E_ABI, "runner_entry returned NULL");
	if (p->size < offsetof(struct runner_plugin, abi_minor))
		return err_set(err, E_ABI, "struct of %u bytes, 1.0 has %zu", p->size,
		               RUNNER_SIZE_1_0);
	if (p->abi_major != RUNNER_ABI_MAJOR)
		return err_set(err, E_ABI, "speaks ABI %u, this broker %u", p->abi_major,
		               RUNNER_ABI_MAJOR);
	if (p->size < RUNNER_SIZE_1_0)
		return err_set(err, E_ABI, "struct of %u bytes, 1.0 has %zu", p->size,
		               RUNNER_SIZE_1_0);
	const struct {
		const char *name;
		int is_there;
	} required[] = {
		{ "name", p->name != NULL },       { "version", p->version != NULL },
		{ "open", p->open != NULL },       { "close", p->close != NULL },
		{ "execute", p->execute != NULL },
	};

	for (size_t i = 0; i < sizeof required / sizeof required[0]; i++) {
		if (!required[i].is_there)
			return err_set(err, E_ABI, "required member `%s` is missing",
			               required[i].name);
	}
	return 0;
}

static int map_fd(int fd, const char *path, const struct runner_plugin **ret_plugin,
                  struct err *err)
{
	const struct runner_plugin *(*entry)(void);
	char name[64];

	/* NOW: a missing symbol refuses the load, instead of ending the process in the
	 * middle of a job. NODELETE: a thread-exit destructor that the runner leaves behind
	 * must never point at unmapped code. */
	CHECK(fd >= 0);
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	void *so = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!so) {
		const char *why = dlerror(), *skip = why ? strstr(why, ": ") : NULL;

		close(fd);
		return err_set(err, E_IO, "%s: %s", path, skip ? skip + 2 : "does not load");
	}
	void *symbol = dlsym(so, "runner_entry");

	if (!symbol)
		return err_set(err, E_ABI, "%s: no symbol runner_entry", path);
	memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast for this */

	const struct runner_plugin *p = entry();
	int r = check_shape(p, err);

	if (r < 0)
		return err_wrap(err, r, path);
	*ret_plugin = p;
	return 0;
}

int plugin_map(const char *path, const struct runner_plugin **ret_plugin, struct err *err)
{
	return plugin_map_judged(path, NULL, NULL, ret_plugin, err);
}

int plugin_map_judged(const char *path, int (*judge)(void *ctx, int fd, struct err *err), void *ctx,
                      const struct runner_plugin **ret_plugin, struct err *err)
{
	int fd = -1;
	int r = copy_private(path, &fd, err);

	if (r == 0 && judge) {
		r = judge(ctx, fd, err);
		if (r < 0)
			close(fd);
	}
	if (r < 0)
		return r;
	/* Once mapped, the descriptor stays even when it is refused: the dynamic linker knows
	 * objects by name, and the next file under this number would be taken for this one. */
	return map_fd(fd, path, ret_plugin, err);
}

int plugin_open(const struct runner_plugin *p, const struct runner_host *host, void **ret_self,
                struct err *err)
{
	CHECK(p->abi_major == RUNNER_ABI_MAJOR &&
	      p->size >= RUNNER_SIZE_1_0); /* judged when mapped */
	void *self = NULL;
	int r = p->open(host, &self);

	if (r < 0)
		return err_set(err, E_ABI, "%s: open() answered %d", p->name, r);
	*ret_self = self;
	return 0;
}

int64_t plugin_copy_out(const char *value, char *ret_value, uint64_t cap)
{
	size_t len = strlen(value);

	if (ret_value && cap) {
		size_t n = len < cap ? len : cap - 1;

		memcpy(ret_value, value, n);
		ret_value[n] = 0;
	}
	return (int64_t)len;
}
