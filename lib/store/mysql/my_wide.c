/* Rows of many numbers. A MariaDB takes them as arrays for a statement that it knows already: to
 * read them as text costs it more than to store them. A MySQL gets the text. */
#include <stdlib.h>
#include <string.h>

#include "store/mysql/mysql.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"

/* Below the smallest max_allowed_packet in use (1 MB), as my_out.c. */
#define ROWS_MAX  2000
#define TEXTS_MAX (256 * 1024)

static const struct {
	const char *head;
	unsigned width; /* numbers */
	bool has_text;  /* and a text after them */
} wides[] = {
	[MY_WIDE_LIVE] = { "REPLACE INTO lb_task_run (id, next_run_date, " INSTANCE_COLUMNS
	                   ") VALUES ",
	                   INSTANCE_WIDTH + 2, false },
	[MY_WIDE_DONE] = { "INSERT INTO lb_task_run_history (next_run_date, " INSTANCE_COLUMNS
	                   ") VALUES ",
	                   INSTANCE_WIDTH + 1, false },
	[MY_WIDE_EVENT] = { "INSERT INTO lb_task_event ("
#define ECOL(column, value) #column ","
#include "store/event_cols.def"
#undef ECOL
	                    "note) VALUES ",
#define ECOL(column, value) +1
	                    0
#include "store/event_cols.def"
#undef ECOL
	                    ,
	                    true },
};

struct my_arrays {
	int64_t *cells; /* a column after the other */
	const char *texts[ROWS_MAX];
	unsigned long lens[ROWS_MAX];
	char nulls[ROWS_MAX];
};

void my_wide_free(struct my_store *s)
{
	for (size_t i = 0; i < MY_WIDE_COUNT; i++) {
		if (s->arrays[i])
			free(s->arrays[i]->cells);
		free(s->arrays[i]);
		s->arrays[i] = NULL;
	}
}

static bool takes_arrays(MYSQL *db)
{
	unsigned long more = 0;

	return mariadb_get_infov(db, MARIADB_CONNECTION_EXTENDED_SERVER_CAPABILITIES, &more) == 0 &&
	       more & (MARIADB_CLIENT_STMT_BULK_OPERATIONS >> 32);
}

struct my_wide my_wide(struct my_store *s, enum my_wide_rows rows)
{
	CHECK(rows < MY_WIDE_COUNT);
	struct my_wide w = { .out = { s, wides[rows].head, "", 0 }, .rows = rows };

	/* A node that loses against another in the middle of an array does not say so. */
	if (s->url.is_plain || s->way.is_node || !takes_arrays(s->db))
		return w;
	if (!s->arrays[rows]) {
		s->arrays[rows] = mem_new(sizeof *s->arrays[rows]);
		s->arrays[rows]->cells = mem_array((size_t)wides[rows].width * ROWS_MAX,
		                                   sizeof(int64_t));
	}
	w.a = s->arrays[rows];
	return w;
}

static int stmt_fail(struct my_store *s, MYSQL_STMT *stmt, const char *what, struct err *err)
{
	if (mysql_errno(s->db))
		return my_fail(s, what, err);
	return err_set(err, E_IO, "%.60s: %s", what, mysql_stmt_error(stmt));
}

static int wide_prepare(struct my_wide *w, struct err *err)
{
	unsigned n = wides[w->rows].width;
	struct my_store *s = w->out.s;
	struct my_arrays *a = w->a;
	MYSQL_BIND *bind = mem_array(n + 1, sizeof *bind);
	int r = 0;

	buf_clear(&s->sql);
	buf_puts(&s->sql, wides[w->rows].head);
	for (unsigned i = 0; i < n + wides[w->rows].has_text; i++)
		buf_puts(&s->sql, i ? ",?" : "(?");
	buf_putc(&s->sql, ')');
	for (unsigned i = 0; i < n; i++) {
		bind[i].buffer_type = MYSQL_TYPE_LONGLONG;
		bind[i].buffer = a->cells + (size_t)i * ROWS_MAX;
	}
	bind[n].buffer_type = MYSQL_TYPE_STRING;
	bind[n].buffer = a->texts;
	bind[n].length = a->lens;
	bind[n].u.indicator = a->nulls;
	unsigned one = 1; /* binding wants to know that there are arrays */
	MYSQL_STMT *stmt = s->wides[w->rows] = mysql_stmt_init(s->db);
	if (!stmt)
		r = err_set(err, E_NOMEM, "mysql_stmt_init");
	else if (mysql_stmt_prepare(stmt, (const char *)buf_at(&s->sql), s->sql.len) ||
	         mysql_stmt_attr_set(stmt, STMT_ATTR_ARRAY_SIZE, &one) ||
	         mysql_stmt_bind_param(stmt, bind))
		r = stmt_fail(s, stmt, wides[w->rows].head, err);
	free(bind);                       /* the statement has a copy */
	if (r < 0 && s->wides[w->rows]) { /* my_fail() may have closed it */
		mysql_stmt_close(stmt);
		s->wides[w->rows] = NULL;
	}
	return r;
}

static int wide_send(struct my_wide *w, struct err *err)
{
	unsigned n = (unsigned)w->n;
	MYSQL_STMT **stmt = &w->out.s->wides[w->rows];
	int r = 0;

	CHECK(w->n <= ROWS_MAX);
	w->n = 0;
	w->text_bytes = 0;
	if (n && !*stmt)
		r = wide_prepare(w, err);
	if (n == 0 || r < 0)
		return r;
	if (mysql_stmt_attr_set(*stmt, STMT_ATTR_ARRAY_SIZE, &n) || mysql_stmt_execute(*stmt))
		return stmt_fail(w->out.s, *stmt, wides[w->rows].head, err);
	return my_still_in(w->out.s, wides[w->rows].head, err);
}

static void end_row(struct my_wide *w)
{
	unsigned width = wides[w->rows].width + wides[w->rows].has_text;

	if (!w->column)
		return;
	CHECK(w->column == width);
	CHECK(!w->a || w->n < ROWS_MAX);
	w->column = 0;
	if (w->a)
		w->n++;
	else
		buf_putc(&w->out.s->sql, ')');
}

int my_wide_row(struct my_wide *w, struct err *err)
{
	end_row(w);
	if (!w->a)
		return my_out_row(&w->out, err);
	return w->n == ROWS_MAX || w->text_bytes > TEXTS_MAX ? wide_send(w, err) : 0;
}

void my_wide_int(struct my_wide *w, int64_t v)
{
	CHECK(w->column < wides[w->rows].width);
	if (w->a) {
		w->a->cells[(size_t)w->column++ * ROWS_MAX + w->n] = v;
		return;
	}
	buf_putc(&w->out.s->sql, w->column++ ? ',' : '(');
	sql_put_int(&w->out.s->sql, v);
}

void my_wide_text(struct my_wide *w, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	CHECK(wides[w->rows].has_text && w->column == wides[w->rows].width);
	w->column++;
	if (w->a) {
		w->a->texts[w->n] = text ? text : "";
		w->a->lens[w->n] = len;
		w->a->nulls[w->n] = text ? STMT_INDICATOR_NONE : STMT_INDICATOR_NULL;
		w->text_bytes += len;
		return;
	}
	buf_putc(&w->out.s->sql, ',');
	if (text)
		my_quote(w->out.s->db, &w->out.s->sql, text, len);
	else
		buf_puts(&w->out.s->sql, "NULL");
}

int my_wide_end(struct my_wide *w, int r, struct err *err)
{
	end_row(w);
	if (!w->a)
		return my_out_end(&w->out, r, err);
	return r < 0 ? r : wide_send(w, err);
}
