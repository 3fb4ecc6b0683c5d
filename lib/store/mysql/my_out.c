#include <stdarg.h>
#include <string.h>

#include "store/mysql/mysql.h"
#include "util/check.h"

/* Well below the smallest max_allowed_packet in use (1 MB), and large enough that the way
 * there and back does not count. */
#define STATEMENT_BYTES (512 * 1024)

static int out_flush(struct my_out *o, struct err *err)
{
	struct buf *b = &o->s->sql;

	if (!o->n)
		return 0;
	buf_puts(b, o->tail);
	o->n = 0;
	return my_run(o->s, (const char *)buf_at(b), b->len, err);
}

int my_out_row(struct my_out *o, struct err *err)
{
	struct buf *b = &o->s->sql;
	int r = 0;

	CHECK(!o->n || b->len > 0);
	if (o->n && b->len > STATEMENT_BYTES)
		r = out_flush(o, err);
	if (o->n == 0) {
		buf_clear(b);
		buf_puts(b, o->head);
	} else {
		buf_putc(b, ',');
	}
	o->n++;
	return r;
}

int my_out_put(struct my_out *o, struct err *err, const char *types, ...)
{
	int r = my_out_row(o, err);
	struct buf *b = &o->s->sql;
	va_list ap;

	if (r < 0)
		return r;
	va_start(ap, types);
	for (int i = 0; types[i]; i++) {
		buf_putc(b, i ? ',' : '(');
		if (types[i] == 'i') {
			sql_put_int(b, va_arg(ap, int64_t));
		} else {
			const char *text = va_arg(ap, const char *);
			my_quote(o->s->db, b, text ? text : "", text ? strlen(text) : 0);
		}
	}
	va_end(ap);
	buf_putc(b, ')');
	return 0;
}

int my_out_end(struct my_out *o, int r, struct err *err)
{
	return r < 0 ? r : out_flush(o, err);
}
