/* sirdar-db VERB [OPTIONS] URL [URL] — build, clean, mock, migrate, check and copy stores. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbtool.h"
#include "util/check.h"
#include "util/log.h"
#include "util/screen.h"

static const struct verb {
	const char *name;
	int (*run)(const struct db_options *o);
	size_t urls;
	const char *args, *help;
} verbs[] = {
	{ "build", db_build, 1, "URL", "make the tables; asks before it destroys what is there" },
	{ "clean", db_clean, 1, "URL", "empty a store; asks" },
	{ "mock", db_mock, 1, "[--rows N] [--tasks N] [--days N] [--events N] URL",
	  "fill an empty store with plausible tasks and history" },
	{ "migrate", db_migrate, 1, "[--dry-run] URL", "bring the tables up to this version" },
	{ "check", db_check, 1, "URL", "does what every table holds fit together?" },
	{ "copy", db_copy, 2, "FROM TO", "a whole installation into an empty store, checked" },
	{ "accept-loss", db_accept_loss, 1, "[--state-dir DIR] [--epoch N] URL",
	  "a store that lost work goes on without it; asks" },
	{ "compare", db_compare, 2, "URL URL",
	  "do two stores have the same rows? Changes nothing" },
	{ "logs", db_logs, 1, "LOG_DIR", "list the logs of jobs; a server may have them" },
	{ "log", db_log, 2, "[--line N] LOG_DIR NAME", "print one, from line N on" },
	{ "check-logs", db_check_logs, 1, "LOG_DIR", "does every byte of them read back?" },
};

static int main_usage(FILE *to)
{
	fprintf(to, "usage: sirdar-db VERB [--yes] ...   (as `sirdar db VERB`)\n");
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		fprintf(to, "  %-11s %-52s %s\n", verbs[i].name, verbs[i].args, verbs[i].help);
	fprintf(to, "A URL: sqlite:DIRECTORY or mysql://USER@HOST[:PORT]/DATABASE[?...]. No server "
	            "may have it meanwhile.\n");
	return to == stdout ? 0 : DB_USAGE;
}

static bool take_number(const char *name, const char *text, int64_t lo, int64_t hi, int64_t *ret)
{
	char *end = NULL;

	CHECK(lo <= hi);
	errno = 0;
	*ret = text ? strtoll(text, &end, 10) : 0;
	if (text && *text && !*end && !errno && *ret >= lo && *ret <= hi)
		return true;
	fprintf(stderr, "sirdar-db: %s: '%s': a number from %" PRId64 " to %" PRId64 " is wanted\n",
	        name, text ? text : "", lo, hi);
	return false;
}

/* False: it is said what is wrong. */
static bool take_options(int argc, char **argv, struct db_options *o)
{
	for (int i = 2; i < argc; i++) {
		const char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : NULL;
		bool ok = true;

		if (strcmp(a, "--yes") == 0)
			o->yes = true;
		else if (strcmp(a, "--dry-run") == 0)
			o->dry_run = true;
		else if (strcmp(a, "--rows") == 0)
			ok = take_number(a, v, 0, 1000000000, &o->rows), i++;
		else if (strcmp(a, "--tasks") == 0)
			ok = take_number(a, v, 1, 100000, &o->tasks), i++;
		else if (strcmp(a, "--days") == 0)
			ok = take_number(a, v, 1, 3650, &o->days), i++;
		else if (strcmp(a, "--events") == 0)
			ok = take_number(a, v, 1, 4, &o->events), i++;
		else if (strcmp(a, "--epoch") == 0)
			ok = take_number(a, v, 1, 1000000, &o->epoch), i++;
		else if (strcmp(a, "--line") == 0)
			ok = take_number(a, v, 1, INT64_MAX, &o->line), i++;
		else if (strcmp(a, "--state-dir") == 0 && v)
			o->state_dir = v, i++;
		else if (*a == '-' || o->n_urls == 2)
			ok = fprintf(stderr, "sirdar-db: what is '%s'?\n", a) < 0;
		else
			o->urls[o->n_urls++] = a;
		if (!ok)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct db_options o = { .rows = 100000, .tasks = 100, .days = 30, .events = 4 };

	screen_open();
	screen_vouch("sirdar-db");
	log_open("sirdar-db", LOG_WARN);
	if (argc < 2)
		return main_usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
		return main_usage(stdout);
	if (strcmp(argv[1], "--version") == 0)
		return puts("sirdar-db " SIRDAR_VERSION) < 0;
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		if (!take_options(argc, argv, &o))
			return DB_USAGE;
		if (o.n_urls != verbs[i].urls) {
			fprintf(stderr, "usage: sirdar-db %s %s\n", verbs[i].name, verbs[i].args);
			return DB_USAGE;
		}
		CHECK(o.n_urls >= 1 && o.n_urls <= 2);
		return verbs[i].run(&o);
	}
	fprintf(stderr, "sirdar-db: no verb '%s'\n", argv[1]);
	return main_usage(stderr);
}
