/* One line an event, one write: threads do not tear each other's lines. A line is made visible
 * first, so that a value that a peer sent neither begins another line nor steers a terminal. What
 * is said too often within a second is counted instead. Nothing here waits, and a line that cannot
 * be written is lost. */
#include "util/log.h"
#include "util/check.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/err.h"
#include "util/visible.h"

static const char *who = "sirdar";
_Atomic int log_level_most = LOG_INFO;
static bool journal;

static const char *const names[] = { "error", "warn", "info", "debug" };
static const char prio[] = { '3', '4', '6', '7' };

void log_open(const char *name, enum log_level level)
{
	CHECK(level <= LOG_DEBUG);
	who = name;
	log_level_most = (int)level;
	journal = secure_getenv("JOURNAL_STREAM") != NULL;
}

void log_level_set(enum log_level level)
{
	CHECK(level <= LOG_DEBUG);
	log_level_most = (int)level;
}

int log_level_parse(const char *text, enum log_level *ret_level)
{
	for (int i = 0; i < 4; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	return E_INVALID;
}

/* Two threads at the turn of a second may both begin it: a few lines more, no harm. */
bool log_may_say(struct log_flood *f, const char *event)
{
	int64_t now = clock_mono_us(&clock_machine) / US_PER_S;

	if (f->second != now) {
		f->second = now;
		f->said = 0;
		uint32_t n = atomic_exchange(&f->suppressed, 0);
		if (n > 0)
			log_line(LOG_DEBUG, event, "suppressed=%u", n);
	}
	if (atomic_fetch_add(&f->said, 1) < LOG_BURST)
		return true;
	f->suppressed++;
	return false;
}

void log_line(enum log_level level, const char *event, const char *fmt, ...)
{
	char line[1024], shown[1024];
	size_t taken;
	int at;

	CHECK(level <= LOG_DEBUG);
	if (!log_wants(level))
		return;
	int64_t us = clock_wall_us(&clock_machine);
	if (journal)
		at = snprintf(line, sizeof line, "<%c>%s %s ", prio[level], who, event);
	else
		at = snprintf(line, sizeof line, "%lld.%06lld %s %s %s ",
		              (long long)(us / US_PER_S), (long long)(us % US_PER_S), who,
		              names[level], event);
	CHECK(at > 0 && (size_t)at < sizeof line - 1);
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line + at, sizeof line - (size_t)at - 1, fmt, ap);
	va_end(ap);
	size_t len = (size_t)at + (n < 0 ? 0 : (size_t)n);
	if (len > sizeof line - 2)
		len = sizeof line - 2;
	/* A value may hold anything a peer sent: it neither forges a line nor steers a screen. */
	len = visible_copy(line, len, VISIBLE_LINE, shown, sizeof shown - 1, &taken);
	CHECK(len < sizeof shown);
	shown[len++] = '\n';
	if (write(STDERR_FILENO, shown, len) < 0)
		return; /* nowhere left to say it */
}
