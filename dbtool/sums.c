/* What tells whether two stores have the same rows. */
#include "sums.h"

#include <stdlib.h>

#include "dbtool.h"
#include "store/admin.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

void table_done(struct table *t)
{
	for (int i = 0; i < t->n; i++)
		free(t->names[i]);
	buf_done(&t->list);
}

int table_init(struct admin *from, const struct db_table *which, struct table *ret, struct err *err)
{
	struct rows *rows = NULL;
	struct buf b;

	buf_init(&b);
	sql_put(&b, from->ops->quote, from, "SELECT * FROM ? WHERE 1 = 0", "n", which->name);
	int r = admin_ask(from, which->name, buf_str(&b), &rows, err);
	buf_done(&b);
	*ret = (struct table){ .t = which };
	buf_init(&ret->list);
	if (r < 0)
		return r;
	for (const char *name; ret->n < COLUMNS_MAX && (name = rows->ops->name(rows, ret->n));) {
		buf_puts(&ret->list, ret->n ? ", `" : "`");
		buf_puts(&ret->list, name);
		buf_puts(&ret->list, "`");
		ret->names[ret->n++] = mem_str(name);
	}
	while ((r = rows_step(rows, err)) > 0)
		;
	rows_close(rows);
	return r;
}

static void hash_more(uint64_t *h, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		*h = (*h ^ (uint8_t)text[i]) * 0x100000001b3ULL;
	*h = (*h ^ 0x1ff) * 0x100000001b3ULL; /* no byte: the end of a column */
}

void sum_row(struct sum *s, struct rows *rows, int columns)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */

	CHECK(columns <= COLUMNS_MAX);
	for (int c = 0; c < columns; c++) {
		size_t len = 0;
		const char *text = rows->ops->text(rows, c, &len);

		if (text)
			hash_more(&h, text, len);
		else
			h = (h ^ 0x2ff) * 0x100000001b3ULL;
	}
	s->rows++;
	s->hash += h ^ h >> 29;
}

int table_ask(struct admin *a, struct table *t, struct rows **ret, struct err *err)
{
	struct buf b;

	buf_init(&b);
	buf_puts(&b, "SELECT ");
	buf_put(&b, buf_at(&t->list), t->list.len);
	sql_put(&b, a->ops->quote, a, " FROM ? ORDER BY ", "n", t->t->name);
	buf_puts(&b, t->t->order);
	int r = admin_ask(a, t->t->name, buf_str(&b), ret, err);
	buf_done(&b);
	return r;
}

int table_sum(struct admin *a, struct table *t, struct sum *ret, struct err *err)
{
	struct rows *rows = NULL;
	int r = table_ask(a, t, &rows, err);

	*ret = (struct sum){ 0 };
	while (r >= 0 && (r = rows_step(rows, err)) > 0)
		sum_row(ret, rows, t->n);
	rows_close(rows);
	return r;
}
