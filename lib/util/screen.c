/* A filter is a stdio stream over a descriptor (fopencookie). What ends within a character waits
 * for the rest, at the longest until the program ends. */
#include "util/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "util/buf.h"
#include "util/check.h"
#include "util/visible.h"

enum { CHUNK = 1024 };

static struct filter {
	int fd;
	bool exact;
	bool coloured;    /* a colour of others went out */
	int lost;         /* errno of what could not be written; 0: nothing was lost */
	struct buf *kept; /* the caller's: there instead of out */
	enum visible how;
	size_t held;
	char text[VISIBLE_HELD + CHUNK]; /* what waits, and room for more behind it */
} filters[2] = {
	{ .fd = STDOUT_FILENO, .how = VISIBLE_LINES },
	{ .fd = STDERR_FILENO, .how = VISIBLE_LINES },
};

static const char *voucher; /* who promised that stdout arrives */

static struct filter *filter_of(FILE *to)
{
	return &filters[to == stderr];
}

static bool write_all(int fd, const char *text, size_t n)
{
	while (n > 0) {
		ssize_t w = write(fd, text, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return false;
		text += w;
		n -= (size_t)w;
	}
	return true;
}

static bool filter_out(struct filter *f, const char *text, size_t n)
{
	bool good = true;

	if (f->kept)
		buf_put(f->kept, text, n);
	else
		good = write_all(f->fd, text, n);
	if (!good)
		f->lost = errno;
	return good;
}

static bool filter_some(struct filter *f, const char *text, size_t n)
{
	char out[(VISIBLE_HELD + CHUNK) * VISIBLE_GROWS];
	size_t taken, bytes;

	CHECK(n <= CHUNK);
	CHECK(f->held <= VISIBLE_HELD);
	memcpy(f->text + f->held, text, n);
	n += f->held;
	bytes = visible_copy(f->text, n, f->how, out, sizeof out, &taken);
	CHECK(taken <= n);
	f->held = n - taken;
	CHECK(f->held <= VISIBLE_HELD);
	memmove(f->text, f->text + taken, f->held);
	f->coloured = f->coloured || memchr(out, '\033', bytes);
	return filter_out(f, out, bytes);
}

/* The cookie's: bytes taken, 0 on failure. */
static ssize_t filter_write(void *cookie, const char *text, size_t n)
{
	struct filter *f = cookie;

	if (f->exact)
		return filter_out(f, text, n) ? (ssize_t)n : 0;
	for (size_t at = 0, some; at < n; at += some) {
		some = n - at < CHUNK ? n - at : CHUNK;
		if (!filter_some(f, text + at, some))
			return 0;
	}
	return (ssize_t)n;
}

/* No rest comes any more. */
static void filter_end(struct filter *f)
{
	struct buf out;

	CHECK(f->held <= VISIBLE_HELD);
	buf_init(&out);
	visible_put(f->text, f->held, f->how, &out);
	if (f->coloured)
		buf_puts(&out, "\033[0m");
	f->held = 0;
	if (!f->exact)
		filter_out(f, (const char *)buf_at(&out), out.len);
	buf_done(&out);
}

static void screen_end(int status, void *ctx)
{
	(void)ctx;
	fflush(stdout);
	filter_end(&filters[0]);
	errno = filters[0].lost;
	if (voucher && filters[0].lost)
		fprintf(stderr, "%s: cannot write the answer: %m\n", voucher);
	fflush(stderr);
	filter_end(&filters[1]);
	if (voucher && filters[0].lost && status == 0)
		_exit(EXIT_FAILURE); /* exit() cannot change its mind */
}

/* A descriptor that came closed is taken: the next file or connection would get its number, and
 * what is printed. Children inherit what takes the place; the filter's own writes fail. */
static void stand_in(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", O_RDWR) != fd)
			_exit(EX_OSERR);
		for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
			if (filters[i].fd == fd)
				filters[i].fd = -1;
	}
}

static FILE *filter_open(struct filter *f, int mode)
{
	FILE *to = fopencookie(f, "w", (cookie_io_functions_t){ .write = filter_write });

	CHECK(to);
	setvbuf(to, NULL, mode, BUFSIZ);
	return to;
}

void screen_open(void)
{
	stand_in();
	stdout = filter_open(&filters[0], isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
	stderr = filter_open(&filters[1], _IONBF);
	CHECK(on_exit(screen_end, NULL) == 0);
}

void screen_vouch(const char *program)
{
	voucher = program;
	if (filters[0].fd < 0) /* a program that takes this one's place finds it closed as well */
		fcntl(STDOUT_FILENO, F_SETFD, FD_CLOEXEC);
}

void screen_data(FILE *to)
{
	fflush(to);
	filter_of(to)->exact = !isatty(filter_of(to)->fd);
}

void screen_output(FILE *to)
{
	screen_data(to);
	filter_of(to)->how = VISIBLE_COLOURS;
}

void screen_steer(FILE *to, const char *sequence)
{
	struct filter *f = filter_of(to);

	fflush(to);
	if (f->kept)
		buf_puts(f->kept, sequence);
	else if (!write_all(f->fd, sequence, strlen(sequence)))
		errno = 0; /* as with fputs() that nobody looks at */
}

void screen_keep(FILE *to, struct buf *kept)
{
	fflush(to);
	filter_of(to)->kept = kept;
}
