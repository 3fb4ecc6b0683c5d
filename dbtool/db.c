/* What the verbs share: exit codes, the question before something is destroyed, progress, and the
 * list of Sirdar's tables (tables.def).
 *
 * Nobody is asked twice: db_may_destroy() says what happens, and without a terminal only --yes is
 * an answer. Nothing here opens a store.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dbtool.h"
#include "store/admin.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/err.h"
#include "util/screen.h"

const struct db_table db_tables[] = {
#define TABLE(name, order) { #name, order },
#include "tables.def"
#undef TABLE
};
const size_t db_tables_n = sizeof db_tables / sizeof db_tables[0];

int db_fail(const struct err *err)
{
	CHECK(err->code < 0);
	fprintf(stderr, "sirdar-db: %s\n", err->text);
	return err->code == E_INVALID   ? DB_USAGE
	       : err->code == E_BUSY    ? DB_IN_USE
	       : err->code == E_DAMAGED ? DB_PROBLEMS
	                                : DB_NOT_THERE;
}

bool db_may_destroy(const struct db_options *o, const char *what)
{
	char line[16];

	if (o->yes)
		return true;
	if (!isatty(STDIN_FILENO)) {
		fprintf(stderr, "sirdar-db: %s: say --yes, nobody is there to be asked\n", what);
		return false;
	}
	fprintf(stderr, "%s. Go on? (yes/no) ", what);
	if (fgets(line, sizeof line, stdin) && strcmp(line, "yes\n") == 0)
		return true;
	fprintf(stderr, "sirdar-db: nothing was changed\n");
	return false;
}

void db_progress(const char *what, int64_t n, int64_t of, bool done)
{
	CHECK(n >= 0);
	static int64_t said_us;
	int64_t now = clock_mono_us(&clock_machine);

	if (!isatty(STDERR_FILENO) || (!done && now - said_us < US_PER_S))
		return;
	said_us = now;
	screen_steer(stderr, "\r");
	fprintf(stderr, "%-24s %" PRId64 " of %" PRId64 "%s", what, n, of, done ? "\n" : "");
}

int db_count_all(struct admin *a, int64_t *ret, struct err *err)
{
	int64_t version = 0, n = 0;
	int r = admin_version(a, &version, err);

	*ret = 0;
	for (size_t i = 0; i < db_tables_n && r == 0 && version > 0; i++) {
		/* The leader's row is always there; documents of nobody are none. */
		if (strcmp(db_tables[i].name, "lb_leader") == 0)
			continue;
		r = admin_count(a, db_tables[i].name, &n, err);
		*ret += n;
	}
	return r;
}
