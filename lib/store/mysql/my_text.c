/* Statements with values. */
#include <stdarg.h>

#include "store/mysql/mysql.h"

void my_quote(void *ctx, struct buf *b, const char *text, size_t len)
{
	uint8_t *to = buf_room(b, len * 2 + 3);
	unsigned long n = mysql_real_escape_string(ctx, (char *)to + 1, text, len);

	to[0] = to[n + 1] = '\'';
	buf_added(b, n + 2);
}

int my_do(struct my_store *s, struct err *err, const char *text, const char *types, ...)
{
	va_list ap;

	buf_clear(&s->sql);
	va_start(ap, types);
	sql_vput(&s->sql, my_quote, s->db, text, types, ap);
	va_end(ap);
	return my_run(s, (const char *)buf_at(&s->sql), s->sql.len, err);
}
