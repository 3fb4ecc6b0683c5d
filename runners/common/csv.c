/* Rows as CSV (RFC 4180, with a chosen delimiter), and a file of them: written beside under a name
 * with the attempt's token, synced and renamed when it is whole. A run that breaks off leaves
 * nothing under the file's own name. Sizes are bounded before the disk is. */
#include "runners/common/csv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runners/common/place.h"
#include "runners/common/run.h"

#define BUFFER_BYTES (256u << 10)

static bool wants_quotes(const struct csv_style *style, const char *value, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = value[i];

		if (c == style->delimiter || c == '"' || c == '\n' || c == '\r')
			return true;
	}
	/* An empty text is told from NULL. */
	return len == 0 && !style->null_text[0];
}

static void csv_put(const struct csv_style *style, const char *value, size_t len, struct text *out)
{
	if (!value) {
		text_str_add(out, style->null_text);
		return;
	}
	if (!wants_quotes(style, value, len)) {
		text_add(out, value, len);
		return;
	}
	text_add(out, "\"", 1);
	for (size_t i = 0; i < len;) {
		const char *quote = memchr(value + i, '"', len - i);
		size_t n = quote ? (size_t)(quote - value) + 1 - i : len - i;

		text_add(out, value + i, n);
		if (quote)
			text_add(out, "\"", 1);
		i += n;
	}
	text_add(out, "\"", 1);
}

void csv_line(const struct csv_style *style, size_t n, const char *const *values,
              const size_t *lens, struct text *out)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			text_add(out, &style->delimiter, 1);
		csv_put(style, values[i], values[i] ? lens[i] : 0, out);
	}
	text_add(out, "\n", 1);
}

void csv_names(const struct csv_style *style, size_t n, const char *const *names, struct text *out)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			text_add(out, &style->delimiter, 1);
		csv_put(style, names[i], strlen(names[i]), out);
	}
	text_add(out, "\n", 1);
}

static int csv_fail(struct csv_file *f, const char *what)
{
	snprintf(f->why, sizeof f->why, "%.120s: %s: %s", f->path, what,
	         strerrordesc_np(errno) ? strerrordesc_np(errno) : "error");
	return -1;
}

/* A rename replaces whatever has the name: a device, of root's broker, too. */
static int csv_may_replace(struct csv_file *f)
{
	struct stat st;
	const char *what;

	if (lstat(f->path, &st) < 0 || S_ISREG(st.st_mode))
		return 0; /* what is not there, or does not tell, the open and the rename judge */
	what = S_ISDIR(st.st_mode)    ? "directory"
	       : S_ISLNK(st.st_mode)  ? "link"
	       : S_ISFIFO(st.st_mode) ? "pipe"
	       : S_ISSOCK(st.st_mode) ? "socket"
	                              : "device";
	snprintf(f->why, sizeof f->why, "%.150s: is a %s, no plain file", f->path, what);
	return -1;
}

int csv_open(struct csv_file *f, const struct run *r, const char *path, uint64_t bytes_max)
{
	*f = (struct csv_file){ .fd = -1, .bytes_max = bytes_max };
	f->path = place_of(r, path, false, f->why, sizeof f->why);
	if (!f->path || csv_may_replace(f) < 0)
		return -1;
	if (asprintf(&f->part, "%s.part-%" PRIu64, f->path, r->job->token) < 0) {
		f->part = NULL;
		snprintf(f->why, sizeof f->why, "out of memory");
		return -1;
	}
	f->fd = open(f->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	f->is_open = f->fd >= 0;
	return f->is_open ? 0 : csv_fail(f, "cannot be made");
}

int csv_flush(struct csv_file *f, bool is_end)
{
	size_t done = 0;

	if (f->buffer.is_over) {
		snprintf(f->why, sizeof f->why, "out of memory");
		return -1;
	}
	if (f->bytes + f->buffer.len > f->bytes_max) {
		snprintf(f->why, sizeof f->why, "%.100s: more than %" PRIu64 " bytes", f->path,
		         f->bytes_max);
		return -1;
	}
	if (!is_end && f->buffer.len < BUFFER_BYTES)
		return 0;
	while (done < f->buffer.len) {
		ssize_t n = write(f->fd, f->buffer.at + done, f->buffer.len - done);

		if (n < 0)
			return csv_fail(f, "cannot be written");
		done += (size_t)n;
	}
	f->bytes += done;
	text_clear(&f->buffer);
	return 0;
}

int csv_keep(struct csv_file *f)
{
	if (csv_flush(f, true) < 0)
		return -1;
	if (fsync(f->fd) < 0)
		return csv_fail(f, "cannot be written");
	if (rename(f->part, f->path) < 0)
		return csv_fail(f, "cannot be renamed");
	free(f->part);
	f->part = NULL;
	return 0;
}

void csv_done(struct csv_file *f)
{
	if (f->is_open)
		close(f->fd);
	if (f->is_open && f->part)
		unlink(f->part);
	free(f->part);
	free(f->path);
	text_done(&f->buffer);
	*f = (struct csv_file){ 0 };
}
