/* build, clean, migrate, check: the tables of one store. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "dbtool.h"
#include "store/admin.h"
#include "util/alloc.h"
#include "util/err.h"

static int make_anew(struct admin *a, struct err *err)
{
	int r = admin_wipe(a, err);

	return r < 0 ? r : admin_migrate(a, 0, err);
}

static int tables_finish(struct admin *a, int r, const struct err *err)
{
	admin_close(a);
	return r < 0 ? db_fail(err) : r;
}

/* What is there is destroyed, if there is something and we may. */
static int begin_anew(const struct db_options *o, bool must_be_there)
{
	struct admin *a = NULL;
	struct err err = { 0 };
	int64_t version = 0, rows = 0;
	int r = admin_open(o->urls[0], !must_be_there, &a, &err);

	if (r == 0)
		r = admin_version(a, &version, &err);
	if (r == 0 && version && db_count_all(a, &rows, NULL) < 0)
		rows = -1; /* tables of another version: they go all the same */
	if (r < 0)
		return tables_finish(a, r, &err);
	char *what = rows < 0 ? mem_fmt("%s: all its tables are destroyed", o->urls[0])
	                      : mem_fmt("%s: %" PRId64 " rows are destroyed", o->urls[0], rows);
	bool may = rows == 0 || db_may_destroy(o, what);
	free(what);
	if (!may) {
		admin_close(a);
		return DB_USAGE;
	}
	r = make_anew(a, &err);
	if (r == 0)
		r = admin_version(a, &version, &err);
	if (r == 0)
		printf("%s: empty, schema %" PRId64 "\n", o->urls[0], version);
	return tables_finish(a, r, &err);
}

int db_build(const struct db_options *o)
{
	return begin_anew(o, false);
}

int db_clean(const struct db_options *o)
{
	return begin_anew(o, true);
}

int db_migrate(const struct db_options *o)
{
	struct admin *a = NULL;
	struct err err = { 0 };
	int64_t version = 0;
	int r = admin_open(o->urls[0], !o->dry_run, &a, &err);

	if (r == 0)
		r = admin_version(a, &version, &err);
	if (r == 0 && version == 0)
		printf("%s: no tables yet\n", o->urls[0]);
	for (int64_t n = version + 1; r == 0 && admin_migration(a, n); n++)
		printf("%s %s\n", o->dry_run ? "would apply" : "apply", admin_migration(a, n));
	if (r == 0 && !o->dry_run)
		r = admin_migrate(a, 0, &err);
	if (r == 0 && !o->dry_run)
		r = admin_version(a, &version, &err);
	if (r == 0)
		printf("%s: schema %" PRId64 "\n", o->urls[0], version);
	return tables_finish(a, r, &err);
}

static const struct rule {
	const char *table, *what, *query;
} rules[] = {
#define CHECK_ROWS(table, what, query) { #table, what, query },
#include "checks.def"
#undef CHECK_ROWS
};

/* Offending rows are counted and the first is named. Negative: it cannot be asked. */
static int check_rule(struct admin *a, const struct rule *k, struct err *err)
{
	struct rows *rows = NULL;
	char first[64] = "";
	int64_t n = 0;
	int r = admin_ask(a, k->table, k->query, &rows, err);

	while (r >= 0 && (r = rows_step(rows, err)) > 0) {
		const char *text = rows->ops->text(rows, 0, NULL);

		if (n++ == 0)
			snprintf(first, sizeof first, "%s", text ? text : "NULL");
	}
	rows_close(rows);
	if (r < 0)
		return r;
	if (n)
		printf("%s: %s: %" PRId64 " row(s), the first: %s\n", k->table, k->what, n, first);
	return n > 0;
}

/* The file itself, before its rows are believed; the events against the leader's row after. */
static int check_whole(struct admin *a, bool after, size_t *bad, struct err *err)
{
	int r = after ? admin_verify(a, err) : admin_whole(a, err);

	if (r != E_DAMAGED)
		return r;
	printf("%s\n", err->text);
	++*bad;
	return 0;
}

int db_check(const struct db_options *o)
{
	struct admin *a = NULL;
	struct err err = { 0 };
	int64_t version = 0;
	size_t bad = 0, n = sizeof rules / sizeof rules[0];
	int r = admin_open(o->urls[0], false, &a, &err);

	if (r == 0)
		r = admin_version(a, &version, &err);
	if (r == 0 && (!admin_migration(a, version) || admin_migration(a, version + 1))) {
		printf("lb_migration: the store has schema %" PRId64
		       ", this program another: `sirdar db migrate`\n",
		       version);
		admin_close(a);
		return DB_PROBLEMS;
	}
	/* Also proves the checksums of those that are in: nothing is left to apply. */
	if (r == 0)
		r = admin_migrate(a, 0, &err);
	if (r == 0 && (r = admin_has_table(a, "lb_copy", &err)) > 0) {
		printf("lb_copy: a copy into this store broke off: `sirdar db copy` once more\n");
		bad++;
	}
	if (r >= 0)
		r = check_whole(a, false, &bad, &err);
	if (r >= 0 && !bad)
		r = check_whole(a, true, &bad, &err);
	for (size_t i = 0; i < n && r >= 0; i++) {
		r = check_rule(a, &rules[i], &err);
		bad += r > 0;
	}
	if (r >= 0)
		printf("%s: %zu of %zu checks found something\n", o->urls[0], bad, n + 3);
	return tables_finish(a, r < 0 ? r : bad ? DB_PROBLEMS : 0, &err);
}
