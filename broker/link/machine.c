/* The number drawn for this machine, in `machine`, and on which card that was, in `machine.card`.
 *
 * It holds for this boot and for this very file: device, inode and boot id stand behind it, so
 * that a copied directory does not carry it along. After a boot another one is drawn; the former
 * is kept only where the same file is found on a machine with the same network card, because a
 * clone of the whole disk has the file too. Only the taskbroker draws, under its lock; loaders
 * read.
 */
#include "broker/link/machine.h"

#include <dirent.h>
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
#include "util/buf.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"

enum { BOOT_BYTES = 40, CARD_BYTES = 24, TEXT_BYTES = 256 };

#define CARDS "/sys/class/net"

/* What makes a file this one: not its copy ... */
static int seal_file(int fd, char ret[TEXT_BYTES])
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -1;
	snprintf(ret, TEXT_BYTES, " file=%llx:%llx\n", (unsigned long long)st.st_dev,
	         (unsigned long long)st.st_ino);
	return 0;
}

/* ... and not after a boot. */
static int machine_seal(int fd, char ret[TEXT_BYTES])
{
	char boot[BOOT_BYTES], file[TEXT_BYTES];

	if (seal_file(fd, file) < 0)
		return -1;
	link_boot_read(boot, sizeof boot);
	snprintf(ret, TEXT_BYTES, " boot=%s%.*s", boot, TEXT_BYTES - BOOT_BYTES - 8, file);
	return 0;
}

/* The lowest address of the network cards; "": there is none, or only the kernel's own (bridges,
 * a container's), which say nothing of the machine. */
static void card_read(char ret[CARD_BYTES])
{
	DIR *d = opendir(CARDS);

	ret[0] = 0;
	for (const struct dirent *e; d && (e = readdir(d));) {
		char device[TEXT_BYTES * 2], address[TEXT_BYTES * 2];
		struct buf text;

		snprintf(device, sizeof device, CARDS "/%s/device", e->d_name);
		snprintf(address, sizeof address, CARDS "/%s/address", e->d_name);
		if (e->d_name[0] == '.' || access(device, F_OK) < 0)
			continue;
		buf_init(&text);
		if (fs_read(address, CARD_BYTES, &text, NULL) == 0 && text.len > 1 &&
		    (!ret[0] || strcmp(buf_str(&text), ret) < 0))
			snprintf(ret, CARD_BYTES, "%.*s", (int)strcspn(buf_str(&text), " \n"),
			         buf_str(&text));
		buf_done(&text);
	}
	if (d)
		closedir(d);
}

static bool is_drawn(const char *text)
{
	return strspn(text, "0123456789abcdef") == MACHINE_HEX - 1;
}

static void link_machine_take(char ret[MACHINE_HEX], const char *text)
{
	CHECK(is_drawn(text));
	memcpy(ret, text, MACHINE_HEX - 1);
	ret[MACHINE_HEX - 1] = 0;
}

/* ret_before: what stands there in this very file, of whichever boot. */
static void read_file(const char *path, char ret[MACHINE_HEX], char ret_before[MACHINE_HEX])
{
	char text[TEXT_BYTES] = "", want[TEXT_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	ret[0] = ret_before[0] = 0;
	if (fd < 0)
		return;
	ssize_t n = read(fd, text, sizeof text - 1);
	const char *tail = text + MACHINE_HEX - 1, *file = strstr(text, " file=");
	if (n >= MACHINE_HEX && is_drawn(text)) {
		if (seal_file(fd, want) == 0 && file && strcmp(file, want) == 0)
			link_machine_take(ret_before, text);
		if (machine_seal(fd, want) == 0 && strcmp(tail, want) == 0)
			link_machine_take(ret, text);
	}
	close(fd);
}

static int write_file(const char *path, const char *nonce, struct err *err)
{
	char text[TEXT_BYTES * 2], tail[TEXT_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), r = 0;

	if (fd < 0 || machine_seal(fd, tail) < 0) {
		r = err_sys(err, E_IO, errno, "%s", path);
	} else {
		int n = snprintf(text, sizeof text, "%s%s", nonce, tail);
		CHECK(n < (int)sizeof text);
		if (write(fd, text, (size_t)n) != n)
			r = err_sys(err, E_IO, errno, "%s", path);
	}
	if (fd >= 0)
		close(fd);
	return r;
}

/* "DRAWN CARD FORMER": on which card that was drawn, and what was before. */
static void read_card(const char *path, const char *drawn, char ret_card[CARD_BYTES],
                      char ret_former[MACHINE_HEX])
{
	char of[MACHINE_HEX] = "";
	struct buf text;

	ret_card[0] = ret_former[0] = 0;
	buf_init(&text);
	if (fs_read(path, TEXT_BYTES, &text, NULL) < 0 ||
	    sscanf(buf_str(&text), "%32s %23s %32s", of, ret_card, ret_former) < 2 ||
	    strcmp(of, drawn) != 0)
		ret_card[0] = ret_former[0] = 0;
	if (!is_drawn(ret_former))
		ret_former[0] = 0;
	buf_done(&text);
}

static int write_card(const char *path, const struct machine *m, struct err *err)
{
	char text[TEXT_BYTES], card[CARD_BYTES];

	card_read(card);
	int n = snprintf(text, sizeof text, "%s %s %s\n", m->drawn, card[0] ? card : "none",
	                 m->former);
	CHECK(n < (int)sizeof text);
	return fs_write(path, text, (size_t)n, 0600, err);
}

/* A clone of the whole disk has the same file, and never the boot: its card tells. */
static bool is_same_card(const char *then)
{
	char now[CARD_BYTES];

	card_read(now);
	return now[0] && strcmp(then, now) == 0;
}

int machine_draw(const char *state_dir, struct machine *ret, struct err *err)
{
	char *path = mem_fmt("%s/machine", state_dir),
	     *card = mem_fmt("%s/machine.card", state_dir);
	char before[MACHINE_HEX], then[CARD_BYTES];
	uint64_t bits[2];
	int r = 0;

	read_file(path, ret->drawn, before);
	read_card(card, before, then, ret->former);
	if (ret->drawn[0] && !then[0])
		r = write_card(card, ret, err); /* drawn by an earlier version */
	if (ret->drawn[0])
		goto out;
	memcpy(ret->former, before, sizeof before);
	if (!is_same_card(then))
		ret->former[0] = 0;
	if (getrandom(bits, sizeof bits, 0) != sizeof bits) {
		r = err_sys(err, E_IO, errno, "getrandom");
		goto out;
	}
	snprintf(ret->drawn, MACHINE_HEX, "%016llx%016llx", (unsigned long long)bits[0],
	         (unsigned long long)bits[1]);
	CHECK(is_drawn(ret->drawn));
	unlink(path);
	r = write_card(card, ret, err);
	if (r == 0)
		r = write_file(path, ret->drawn, err);
out:
	free(path);
	free(card);
	return r;
}

void machine_read(const char *state_dir, struct machine *ret)
{
	char *path = mem_fmt("%s/machine", state_dir),
	     *card = mem_fmt("%s/machine.card", state_dir);
	char before[MACHINE_HEX], then[CARD_BYTES];

	read_file(path, ret->drawn, before);
	read_card(card, ret->drawn, then, ret->former);
	free(path);
	free(card);
}
