/* What MySQL gives the stores of rows: the statements of row_stmt.def by number, in MySQL's words,
 * a transaction, and what its retention does by itself (struct row_ops). */
#include <stdarg.h>

#include "store/mysql/mysql.h"

static const char *const texts[ROW_COUNT] = {
#define ROW(name, table, text)           [ROW_##name] = text,
#define ROW2(name, table, sqlite, mysql) [ROW_##name] = mysql,
#include "store/row_stmt.def"
#undef ROW
#undef ROW2
};

static int row_query(struct row_store *rs, enum row_id id, struct rows **ret, struct err *err,
                     const char *types, va_list ap)
{
	struct my_store *s = (struct my_store *)rs;
	int r = my_put(s, err, texts[id], types, ap);

	return r < 0 ? r : my_ask_built(s, row_table(id), ret, err);
}

static int row_do(struct row_store *rs, enum row_id id, size_t *ret_rows, struct err *err,
                  const char *types, va_list ap)
{
	struct my_store *s = (struct my_store *)rs;
	int r = my_put(s, err, texts[id], types, ap);

	if (r == 0)
		r = my_run(s, (const char *)buf_at(&s->sql), s->sql.len, err);
	if (r == 0 && ret_rows)
		*ret_rows = (size_t)mysql_affected_rows(s->db);
	return r;
}

static int statements_begin(struct row_store *s, uint32_t epoch, uint64_t *ret_number,
                            struct err *err)
{
	return my_begin((struct my_store *)s, epoch, ret_number, err);
}

static int statements_end(struct row_store *s, int r, struct err *err)
{
	return my_end((struct my_store *)s, r, err);
}

static int stamp(struct row_store *s, struct err *err)
{
	return my_stamp((struct my_store *)s, err);
}

const struct row_ops my_row_ops = { .ask = row_query,
	                            .change = row_do,
	                            .begin = statements_begin,
	                            .end = statements_end,
	                            .put_outcomes = my_put_outcomes,
	                            .stat_days = INT32_MAX,
	                            .stamp = stamp,
	                            .retained = my_retained };
