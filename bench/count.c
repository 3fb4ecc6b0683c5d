/* Preloaded into a server that is measured: what it writes into files, and how often it waits for
 * the disk.
 *
 * The file that BENCH_COUNT names holds three numbers of 64 bits: bytes written by pwrite (so do
 * the store of SQLite and the anchor; what goes to sockets never does), calls of it, syncs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct count {
	_Atomic uint64_t bytes, writes, syncs;
};

static struct count nobody;
static struct count *count = &nobody;

__attribute__((constructor)) static void open_count(void)
{
	const char *path = getenv("BENCH_COUNT");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd < 0 || ftruncate(fd, sizeof *count) != 0)
		return;
	void *at = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		count = at;
	close(fd);
}

ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at)
{
	ssize_t w = syscall(SYS_pwrite64, fd, data, n, at);

	if (w > 0) {
		count->bytes += (uint64_t)w;
		count->writes++;
	}
	return w;
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at)
{
	return pwrite64(fd, data, n, at);
}

int fdatasync(int fd)
{
	count->syncs++;
	return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
	count->syncs++;
	return (int)syscall(SYS_fsync, fd);
}
