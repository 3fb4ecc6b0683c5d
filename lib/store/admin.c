/* Tables as they are, for sirdar-db: any statement, rows of any table, migrations, a wipe. SQLite
 * is built in, MySQL comes from its module. Nothing here proves an epoch or takes the lease: who
 * uses it holds the store alone, or only reads. Only tables that begin with lb_ are ours. */
#include "store/admin.h"

#include <stdlib.h>
#include <string.h>

#include "store/module.h"
#include "store/schema.h"
#include "util/alloc.h"
#include "util/buf.h"
#include "util/err.h"

enum { TABLES_MAX = 64 };

int admin_open(const char *url, bool may_make, struct admin **ret, struct err *err)
{
	if (strncmp(url, "sqlite:", 7) == 0)
		return admin_sqlite_ops.open(url + 7, may_make, ret, err);
	if (strncmp(url, "mysql:", 6) == 0) {
		const struct admin_ops *ops = NULL;
		int r = store_module_load_admin("mysql", &ops, err);

		return r < 0 ? r : ops->open(url + 6, may_make, ret, err);
	}
	return err_set(err, E_INVALID,
	               "store url '%s': want sqlite:DIRECTORY or mysql://USER@HOST/DATABASE", url);
}

void admin_close(struct admin *a)
{
	if (a)
		a->ops->close(a);
}

int admin_run(struct admin *a, const char *text, struct err *err)
{
	return a->ops->run(a, text, strlen(text), err);
}

int admin_ask(struct admin *a, const char *table, const char *text, struct rows **ret,
              struct err *err)
{
	return a->ops->ask(a, table, text, ret, err);
}

int admin_number(struct admin *a, const char *table, const char *text, int64_t *ret,
                 struct err *err)
{
	struct rows *rows = NULL;
	int r = admin_ask(a, table, text, &rows, err);

	if (r < 0)
		return r;
	*ret = 0;
	r = rows_step(rows, err);
	if (r > 0 && rows->ops->text(rows, 0, NULL))
		r = rows_int(rows, 0, INT64_MIN, INT64_MAX, ret, err);
	rows_close(rows);
	return r < 0 ? r : 0;
}

int admin_count(struct admin *a, const char *table, int64_t *ret, struct err *err)
{
	struct buf b;

	buf_init(&b);
	sql_put(&b, a->ops->quote, a, "SELECT COUNT(*) FROM ?", "n", table);
	int r = admin_number(a, table, buf_str(&b), ret, err);
	buf_done(&b);
	return r;
}

int admin_migrate(struct admin *a, int64_t first_us, struct err *err)
{
	return a->ops->migrate(a, first_us, err);
}

/* Their names, on the heap; those of others are left alone. */
static int each_table(struct admin *a, char *names[TABLES_MAX], size_t *ret_n, struct err *err)
{
	struct rows *rows = NULL;
	int r = admin_ask(a, "tables", a->ops->tables, &rows, err);

	*ret_n = 0;
	while (r >= 0 && (r = rows_step(rows, err)) > 0 && *ret_n < TABLES_MAX) {
		const char *name = rows->ops->text(rows, 0, NULL);

		if (name && strncmp(name, "lb_", 3) == 0)
			names[(*ret_n)++] = mem_str(name);
	}
	rows_close(rows);
	return r < 0 ? r : 0;
}

int admin_has_table(struct admin *a, const char *name, struct err *err)
{
	char *names[TABLES_MAX];
	size_t n = 0;
	bool found = false;
	int r = each_table(a, names, &n, err);

	for (size_t i = 0; i < n; i++) {
		found = found || strcmp(names[i], name) == 0;
		free(names[i]);
	}
	return r < 0 ? r : found;
}

int admin_version(struct admin *a, int64_t *ret, struct err *err)
{
	int r = admin_has_table(a, "lb_migration", err);

	*ret = 0;
	if (r <= 0)
		return r;
	return admin_number(a, "lb_migration", "SELECT MAX(number) FROM lb_migration", ret, err);
}

const char *admin_migration(const struct admin *a, int64_t number)
{
	return number < 1 || (size_t)number > *a->ops->schema_count
	               ? NULL
	               : a->ops->schema[number - 1].name;
}

int admin_whole(struct admin *a, struct err *err)
{
	return a->ops->whole ? a->ops->whole(a, err) : 0;
}

int admin_verify(struct admin *a, struct err *err)
{
	return a->ops->verify(a, err);
}

int admin_know_tables(struct admin *a, bool (*known)(const char *name), struct err *err)
{
	char *names[TABLES_MAX];
	size_t n = 0;
	int r = each_table(a, names, &n, err);

	for (size_t i = 0; i < n; i++) {
		if (r == 0 && !known(names[i]))
			r = err_set(err, E_CORRUPT, "table %s is none that this program knows",
			            names[i]);
		free(names[i]);
	}
	return r;
}

int admin_wipe(struct admin *a, struct err *err)
{
	char *names[TABLES_MAX];
	size_t n = 0;
	int r = each_table(a, names, &n, err);

	for (size_t i = 0; i < n; i++) {
		struct buf b;

		buf_init(&b);
		buf_puts(&b, "DROP TABLE ");
		buf_puts(&b, names[i]);
		if (r == 0)
			r = admin_run(a, buf_str(&b), err);
		buf_done(&b);
		free(names[i]);
	}
	if (r == 0 && a->ops->after_wipe)
		r = admin_run(a, a->ops->after_wipe, err);
	return r;
}
