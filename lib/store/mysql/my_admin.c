/* The tables for the offline tool: no limit on statements, nothing migrated. */
#include <inttypes.h>
#include <stdlib.h>

#include "store/admin.h"
#include "store/mysql/mysql.h"
#include "store/schema.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/err.h"

enum { LONG_S = 86400 };

struct my_admin {
	struct admin base;
	struct my_store *s;
};

static struct my_store *store_of(struct admin *a)
{
	return ((struct my_admin *)a)->s;
}

static void close_it(struct admin *a)
{
	my_free(store_of(a));
	free(a);
}

/* A server, a face or a person: whoever is connected to this database. */
static int check_alone(struct my_store *s, struct err *err)
{
	int64_t n = 0;
	int r = my_ask_number(s, "PROCESSLIST", &n, err,
	                      "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB ="
	                      " DATABASE() AND ID <> CONNECTION_ID()",
	                      "");

	if (r == 0 && n)
		r = err_set(err, E_BUSY,
		            "database %s is in use by %" PRId64
		            " other connection(s): stop baseserver and sirdar-cgi",
		            s->url.database, n);
	return r;
}

static int open_it(const char *rest, bool may_make, struct admin **ret, struct err *err)
{
	static const char no_limits[] = "SET SESSION wait_timeout = 86400";
	struct my_store *s = NULL;
	int r = my_open_bare(rest, &s, err);

	(void)may_make; /* databases are made by who runs the server */
	if (r == 0) {
		s->url.timeout_s = LONG_S;
		r = my_ready(s, err);
	}
	if (r == 0)
		r = my_run(s, no_limits, sizeof no_limits - 1, err);
	if (r == 0)
		r = check_alone(s, err);
	if (r < 0) {
		if (s)
			my_free(s);
		return r;
	}
	struct my_admin *a = mem_new(sizeof *a);
	a->base.ops = &admin_mysql_ops;
	a->s = s;
	*ret = &a->base;
	return 0;
}

static int my_admin_run(struct admin *a, const char *text, size_t len, struct err *err)
{
	int r = my_ready(store_of(a), err);

	return r < 0 ? r : my_run(store_of(a), text, len, err);
}

static int my_admin_ask(struct admin *a, const char *table, const char *text, struct rows **ret,
                        struct err *err)
{
	return my_ask(store_of(a), table, ret, err, text, "");
}

static int my_admin_migrate(struct admin *a, int64_t first_us, struct err *err)
{
	struct my_store *s = store_of(a);
	int r = my_migrate(s, err);

	s->days_from_us = first_us;
	return r < 0 ? r : my_days_ahead(s, clock_wall_us(&clock_machine), err);
}

static void quote(void *ctx, struct buf *b, const char *text, size_t len)
{
	my_quote(store_of(ctx)->db, b, text, len);
}

static int my_admin_verify(struct admin *a, struct err *err)
{
	struct store *s = &store_of(a)->base;
	struct store_tip t = { 0 };
	int r = store_read_tip(s, &t, err);

	return r < 0 ? r : store_verify(s, &t, err);
}

const struct admin_ops admin_mysql_ops = {
	.prefix = "mysql:",
	.open = open_it,
	.close = close_it,
	.run = my_admin_run,
	.ask = my_admin_ask,
	.quote = quote,
	.migrate = my_admin_migrate,
	.verify = my_admin_verify,
	.tables = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA ="
		  " DATABASE()",
	.schema = store_mysql_schema,
	.schema_count = &store_mysql_schema_count,
};
