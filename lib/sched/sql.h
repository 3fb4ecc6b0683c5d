/* sql.h — where in SQL the values of others may stand. As sched/shell.h. Pure.
 *
 * Which database reads the text is not known when it is saved, so it is read as PostgreSQL, SQLite
 * and MySQL read it; a place fits when it does for all of them.
 */
#ifndef SCHED_SQL_H
#define SCHED_SQL_H

#include <stddef.h>

enum sql_place {
	SQL_FITS,   /* a value of its own */
	SQL_QUOTES, /* in '...' or $$...$$ */
	SQL_NAME,   /* in "...", `...`, [...] */
	SQL_COMMENT,
	SQL_JOINED /* a part of a word, or beside quotes */
};

void sql_places(const char *text, size_t bytes, const size_t *holes, size_t n,
                enum sql_place *ret_places);

#endif
