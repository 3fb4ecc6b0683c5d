#include "broker/link/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/link/impl.h"
#include "util/alloc.h"
#include "util/err.h"

enum { BOOT_BYTES = 40, TEXT_BYTES = 256 };

/* What makes a file this one: not its copy, and not after a boot. */
static int seal(int fd, char ret[TEXT_BYTES])
{
	char boot[BOOT_BYTES];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	link_boot_read(boot, sizeof boot);
	snprintf(ret, TEXT_BYTES, " boot=%s file=%llx:%llx\n", boot, (unsigned long long)st.st_dev,
	         (unsigned long long)st.st_ino);
	return 0;
}

static void read_file(const char *path, char ret[MACHINE_HEX])
{
	char text[TEXT_BYTES] = "", want[TEXT_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t hex = MACHINE_HEX - 1;

	ret[0] = 0;
	if (fd < 0)
		return;
	ssize_t n = read(fd, text, sizeof text - 1);
	if (n > (ssize_t)hex && seal(fd, want) == 0 && strcmp(text + hex, want) == 0 &&
	    strspn(text, "0123456789abcdef") == hex) {
		memcpy(ret, text, hex);
		ret[hex] = 0;
	}
	close(fd);
}

static int write_file(const char *path, const char *nonce, struct err *err)
{
	char text[TEXT_BYTES], tail[TEXT_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;

	if (fd < 0 || seal(fd, tail) < 0) {
		r = err_sys(err, E_IO, errno, "%s", path);
	} else {
		int n = snprintf(text, sizeof text, "%s%s", nonce, tail);
		if (write(fd, text, (size_t)n) != n)
			r = err_sys(err, E_IO, errno, "%s", path);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

static char *path_in(const char *state_dir)
{
	return mem_fmt("%s/machine", state_dir);
}

int machine_draw(const char *state_dir, char ret[MACHINE_HEX], struct err *err)
{
	char *path = path_in(state_dir);
	uint64_t bits[2];
	int r = 0;

	read_file(path, ret);
	if (!ret[0] && getrandom(bits, sizeof bits, 0) != sizeof bits)
		r = err_sys(err, E_IO, errno, "getrandom");
	if (!ret[0] && r == 0) {
		snprintf(ret, MACHINE_HEX, "%016llx%016llx", (unsigned long long)bits[0],
		         (unsigned long long)bits[1]);
		unlink(path);
		r = write_file(path, ret, err);
	}
	free(path);
	return r;
}

void machine_read(const char *state_dir, char ret[MACHINE_HEX])
{
	char *path = path_in(state_dir);

	read_file(path, ret);
	free(path);
}
