/* What this server knows of its store, kept outside it: a file of two lines that are written in
 * turn, each with its own sum, so that a line torn by a crash leaves the other. The newest one
 * that reads back counts.
 *
 * anchor_check() compares it with where the store stands. A store with another id is another
 * installation's, one behind the anchor lost work, one that has the number with another chain went
 * another way. It judges only; who leads decides what follows. */
#include "store/anchor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sched/when.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/crc.h"
#include "util/err.h"
#include "util/log.h"

enum { LINE_BYTES = 256 };

/* Over a line's bytes but its own place at the end. */
static uint32_t sum_of(const char line[LINE_BYTES])
{
	int64_t words[(LINE_BYTES - 16) / 8];

	memcpy(words, line, sizeof words);
	return crc32c_numbers(0, words, sizeof words / sizeof words[0]);
}

/* Whatever the bytes are: no NUL ends them. */
static bool anchor_parse(const char bytes[LINE_BYTES], struct anchor *ret)
{
	struct anchor a = { 0 };
	char line[LINE_BYTES + 1], sum[9], epoch[11], seq[21], number[21], chain[9], at_us[21];

	memcpy(line, bytes, LINE_BYTES);
	line[LINE_BYTES] = 0;
	if (sscanf(line + LINE_BYTES - 16, "%8[0-9a-f]", sum) != 1 ||
	    strtoul(sum, NULL, 16) != sum_of(line) ||
	    sscanf(line,
	           "sirdar-anchor 1 %64s %10[0-9] %20[0-9] %20[0-9] %8[0-9a-f] %20[-0-9] by "
	           "%64[^\n]",
	           a.id, epoch, seq, number, chain, at_us, a.by) != 7)
		return false;
	a.epoch = (uint32_t)strtoul(epoch, NULL, 10);
	a.seq = strtoull(seq, NULL, 10);
	a.number = strtoull(number, NULL, 10);
	a.chain = (uint32_t)strtoul(chain, NULL, 16);
	a.at_us = strtoll(at_us, NULL, 10);
	*ret = a;
	return true;
}

static bool is_newer(const struct anchor *a, const struct anchor *b)
{
	return a->epoch != b->epoch
	               ? a->epoch > b->epoch
	               : a->number > b->number || (a->number == b->number && a->seq > b->seq);
}

int anchor_read(const char *dir, struct anchor *ret, struct err *err)
{
	char *path = mem_fmt("%s/" ANCHOR_FILE, dir), line[LINE_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC), n = 0, errnum = errno;
	struct anchor a;

	for (off_t at = 0; fd >= 0 && at < (off_t)2 * LINE_BYTES; at += LINE_BYTES)
		if (pread(fd, line, LINE_BYTES, at) == LINE_BYTES && anchor_parse(line, &a) &&
		    (n++ == 0 || is_newer(&a, ret)))
			*ret = a;
	if (fd >= 0)
		close(fd);
	int r = fd < 0 && errnum != ENOENT ? err_sys(err, E_IO, errnum, "%s", path)
	        : n == 0 ? err_set(err, E_NOT_FOUND, "%s: nothing reads back", path)
	                 : 0;
	free(path);
	return r;
}

int anchor_open(const char *dir, struct anchor_file *f, struct err *err)
{
	char *path = mem_fmt("%s/" ANCHOR_FILE, dir);
	int r = 0;

	f->turn = 0;
	f->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (f->fd < 0)
		r = err_sys(err, E_IO, errno, "%s", path);
	free(path);
	return r;
}

void anchor_close(struct anchor_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

int anchor_write(struct anchor_file *f, const struct anchor *a, struct err *err)
{
	char line[LINE_BYTES];

	memset(line, ' ', sizeof line);
	int n = snprintf(line, LINE_BYTES - 16,
	                 "sirdar-anchor 1 %s %" PRIu32 " %" PRIu64 " %" PRIu64 " %08" PRIx32
	                 " %" PRId64 " by %s\n",
	                 a->id, a->epoch, a->seq, a->number, a->chain, a->at_us, a->by);
	CHECK(n > 0 && n < LINE_BYTES - 16);
	line[n] = ' ';
	snprintf(line + LINE_BYTES - 16, 9, "%08" PRIx32, sum_of(line));
	memset(line + LINE_BYTES - 8, '\n', 8);
	if (pwrite(f->fd, line, LINE_BYTES, (off_t)(f->turn++ % 2) * LINE_BYTES) != LINE_BYTES)
		return err_sys(err, errno == ENOSPC ? E_FULL : E_IO, errno, ANCHOR_FILE);
	return 0;
}

struct anchor anchor_of(const struct store_tip *t, int64_t at_us)
{
	struct anchor a = { .epoch = t->epoch,
		            .seq = t->seq,
		            .number = t->number,
		            .chain = t->chain,
		            .at_us = at_us,
		            .by = "this server" };

	memcpy(a.id, t->id, sizeof a.id);
	return a;
}

static const char *time_text(int64_t us, char to[WHEN_TEXT])
{
	when_print(us / US_PER_S, to);
	return to;
}

/* It has come at least as far: did it come that way? */
static int check_way(const struct anchor *a, const char *name, struct store *s,
                     const struct store_tip *t, struct err *err)
{
	struct store_walk w = { .after = a->number, .upto = t->number, .chain = a->chain };
	int r = 0;

	CHECK(t->number >= a->number);
	if (a->seq == 0 || t->mark_number > a->number || t->chain_number != t->number)
		return 0; /* not to be told any more */
	if (t->number > a->number)
		r = store_chain(s, &w, err);
	if (r < 0 || w.chain == t->chain || (t->number > a->number && w.rows == 0))
		return r;
	return err_set(err, E_LOST,
	               "%s went another way after transition %" PRIu64
	               " than the store that this server wrote (chain %08" PRIx32
	               ", expected %08" PRIx32 ", see " ANCHOR_FILE "): it is a copy that another "
	               "server used",
	               name, a->number, w.chain, t->chain);
}

/* It is the store that counts: it may lead, but somebody should know that nobody vouches for it. */
static void tell_unread(const char *dir, const struct err *err)
{
	char *path = mem_fmt("%s/" ANCHOR_FILE, dir);

	if (access(path, F_OK) == 0 || errno != ENOENT)
		log_warn("anchor.unread", "text=\"%s: whether the store lost work is not known\"",
		         err->text);
	free(path);
}

int anchor_check(const char *dir, const char *name, struct store *s, const struct store_tip *t,
                 struct err *err)
{
	struct anchor a = { 0 };
	char at[WHEN_TEXT];
	int r = anchor_read(dir, &a, err);

	if (r < 0) {
		tell_unread(dir, err);
		return 0;
	}
	if (strcmp(a.id, t->id) != 0)
		return err_set(err, E_STRANGER,
		               "%s is the store %.8s, but %s/" ANCHOR_FILE
		               " knows %.8s (transition %" PRIu64 ", %s): it is of another "
		               "installation, or was made anew",
		               name, t->id, dir, a.id, a.number, time_text(a.at_us, at));
	if (t->base_epoch > a.epoch)
		return 0;
	if (t->epoch < a.epoch || t->number < a.number || t->seq < a.seq)
		return err_set(err, E_LOST,
		               "%s lost acknowledged work: it ends at transition %" PRIu64
		               " (commit %" PRIu64 ", epoch %" PRIu32
		               "), but %s knew transition %" PRIu64 " (commit %" PRIu64
		               ", epoch %" PRIu32 ") at %s, see %s/" ANCHOR_FILE,
		               name, t->number, t->seq, t->epoch, a.by, a.number, a.seq, a.epoch,
		               time_text(a.at_us, at), dir);
	return check_way(&a, name, s, t, err);
}
