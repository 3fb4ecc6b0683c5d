/* Bound values as a database writes a text. */
#include "runners/common/db.h"
#include "runners/common/values.h"

/* Of bytes in hex nothing depends on what the session, or a statement before, made of quotes. */
static void quote_hex(const char *value, size_t len, struct text *out)
{
	text_str_add(out, "_utf8mb4 X'");
	for (size_t i = 0; i < len; i++)
		text_addf(out, "%02x", (unsigned)(unsigned char)value[i]);
	text_str_add(out, "'");
}

static void quote_value(void *ctx, const char *value, size_t len, struct text *out)
{
	struct db *db = ctx;

	if (db_kind(db) == DB_MYSQL || db_kind(db) == DB_MARIADB)
		quote_hex(value, len, out);
	else
		db_quote(db, value, len, out);
}

int db_values(const struct run *r, struct db *db, const char *sql, struct text *out)
{
	return values_put(r, sql, quote_value, db, out);
}
