/* What a failure's number, the server's or the client's own, is to the store's caller, and whether
 * the connection is over with it. Numbers that are not in the table are E_IO; of the client's own
 * the connection is over then. */
#include <mariadb/errmsg.h>
#include <mariadb/mysqld_error.h>

#include "store/mysql/mysql.h"
#include "util/err.h"

/* MariaDB's own numbers that MySQL's header lacks. */
#define ER_KILLED          1927
#define ER_WSREP_NOT_READY 1047 /* a Galera node outside the cluster says "unknown command" */
#define ER_STATEMENT_LATE  1969 /* MariaDB: max_statement_time */
#define ER_EXECUTION_LATE  3024 /* MySQL: max_execution_time */

/* What a failure's number is to the store's caller, and whether the connection is over. */
static const struct {
	unsigned number;
	int code;
	bool is_over;
} failures[] = {
	{ CR_SERVER_GONE_ERROR, E_AGAIN, true },
	{ CR_SERVER_LOST, E_AGAIN, true },
	{ CR_CONNECTION_ERROR, E_AGAIN, true },
	{ CR_CONN_HOST_ERROR, E_AGAIN, true },
	{ CR_UNKNOWN_HOST, E_AGAIN, true },
	{ CR_COMMANDS_OUT_OF_SYNC, E_AGAIN, true },
	{ CR_MALFORMED_PACKET, E_AGAIN, true },
	{ CR_SSL_CONNECTION_ERROR, E_AUTH, true },
	{ CR_OUT_OF_MEMORY, E_NOMEM, true },
	{ ER_CON_COUNT_ERROR, E_AGAIN, true },
	{ ER_SERVER_SHUTDOWN, E_AGAIN, true },
	{ ER_NEW_ABORTING_CONNECTION, E_AGAIN, true },
	{ ER_QUERY_INTERRUPTED, E_AGAIN, true },
	{ ER_KILLED, E_AGAIN, true },
	{ ER_WSREP_NOT_READY, E_AGAIN, true },
	{ ER_ERROR_DURING_COMMIT, E_AGAIN, true }, /* in or not: the node left its cluster */
	{ ER_NET_PACKET_TOO_LARGE, E_TOO_BIG, true },
	{ ER_STATEMENT_LATE, E_LIMIT, false },
	{ ER_EXECUTION_LATE, E_LIMIT, false },
	{ ER_LOCK_WAIT_TIMEOUT, E_BUSY, false },
	{ ER_LOCK_DEADLOCK, E_BUSY, false },
	{ ER_DISK_FULL, E_FULL, false },
	{ ER_RECORD_FILE_FULL, E_FULL, false },
	{ ER_OUTOFMEMORY, E_NOMEM, false },
	{ ER_ACCESS_DENIED_ERROR, E_AUTH, true },
	{ ER_DBACCESS_DENIED_ERROR, E_FORBIDDEN, false },
	{ ER_TABLEACCESS_DENIED_ERROR, E_FORBIDDEN, false },
	{ ER_COLUMNACCESS_DENIED_ERROR, E_FORBIDDEN, false },
	{ ER_SPECIFIC_ACCESS_DENIED_ERROR, E_FORBIDDEN, false },
	{ ER_OPTION_PREVENTS_STATEMENT, E_FORBIDDEN, true }, /* read only: maybe another now */
	{ ER_READ_ONLY_MODE, E_FORBIDDEN, true },
	{ ER_BAD_DB_ERROR, E_NOT_FOUND, true },
	{ ER_NO_SUCH_TABLE, E_CORRUPT, false },
	{ ER_BAD_FIELD_ERROR, E_CORRUPT, false },
	{ ER_DUP_ENTRY, E_DAMAGED, false },
	{ ER_DATA_TOO_LONG, E_INVALID, false },
	/* Somebody else changed the partitions meanwhile. */
	{ ER_PARTITION_MAXVALUE_ERROR, E_CONFLICT, false },
	{ ER_SAME_NAME_PARTITION, E_CONFLICT, false },
	{ ER_RANGE_NOT_INCREASING_ERROR, E_CONFLICT, false },
	{ ER_PARTITION_DOES_NOT_EXIST, E_CONFLICT, false },
	{ ER_REORG_PARTITION_NOT_EXIST, E_CONFLICT, false },
	{ ER_UNKNOWN_PARTITION, E_CONFLICT, false },
	{ ER_NO_PARTITION_FOR_GIVEN_VALUE, E_BUSY, false }, /* pmax is gone: see my_fail() */
};

int my_failure(MYSQL *db, const struct my_url *u, const char *what, bool *ret_over, struct err *err)
{
	unsigned number = mysql_errno(db);
	int code = E_IO;
	bool is_over = number >= CR_MIN_ERROR && number <= CR_MAX_ERROR;

	for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++)
		if (failures[i].number == number) {
			code = failures[i].code;
			is_over = failures[i].is_over;
		}
	*ret_over = is_over;
	if (code == E_DAMAGED) /* the statement tells nobody anything */
		return err_set(err, code,
		               "mysql://%s@%s:%u/%s is damaged: it has a row already that is "
		               "written now",
		               u->user, db->host ? db->host : u->hosts[0].name,
		               db->host ? db->port : u->hosts[0].port, u->database);
	return err_set(err, code, "mysql://%s@%s:%u/%s: %.60s: %s (%u)", u->user,
	               db->host ? db->host : u->hosts[0].name,
	               db->host ? db->port : u->hosts[0].port, u->database, what, mysql_error(db),
	               number);
}
