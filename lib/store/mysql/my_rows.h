/* my_rows.h — a result of the server as rows. Internal to lib/store/mysql. */
#ifndef STORE_MYSQL_MY_ROWS_H
#define STORE_MYSQL_MY_ROWS_H

#include <mariadb/mysql.h>

#include "store/rows.h"

struct my_rows {
	struct rows base;
	MYSQL_RES *res;
	MYSQL_ROW row;
	unsigned long *len;
	void *owner; /* the store, or the reader */
};

bool my_rows_number(struct rows *r, int column, int64_t *ret);
const char *my_rows_text(struct rows *r, int column, size_t *ret_len);
const char *my_rows_name(struct rows *r, int column);
#define MY_ROWS_OPS .number = my_rows_number, .text = my_rows_text, .name = my_rows_name

#endif
