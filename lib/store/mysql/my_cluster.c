/* A node of a Galera cluster: may it be used, and does it know what the others know? */
#include <stdio.h>
#include <string.h>

#include "store/mysql/mysql.h"
#include "util/err.h"

enum { STATE_DONOR = 2, STATE_SYNCED = 4 };

/* What a node says of itself. */
struct node {
	char is_on[8], is_ready[8], status[24], state[8], words[40];
};

static int cluster_take(MYSQL *db, const struct my_url *u, const char *text, struct node *n,
                        struct err *err)
{
	const struct {
		const char *name;
		char *to;
		size_t cap;
	} fields[] = {
		{ "wsrep_on", n->is_on, sizeof n->is_on },
		{ "wsrep_ready", n->is_ready, sizeof n->is_ready },
		{ "wsrep_cluster_status", n->status, sizeof n->status },
		{ "wsrep_local_state", n->state, sizeof n->state },
		{ "wsrep_local_state_comment", n->words, sizeof n->words },
	};
	bool is_over;
	MYSQL_RES *res;

	if (mysql_real_query(db, text, strlen(text)) || !(res = mysql_store_result(db)))
		return my_failure(db, u, "wsrep", &is_over, err);
	for (MYSQL_ROW row; (row = mysql_fetch_row(res));)
		for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
			if (row[0] && row[1] && strcmp(row[0], fields[i].name) == 0)
				snprintf(fields[i].to, fields[i].cap, "%s", row[1]);
	mysql_free_result(res);
	return 0;
}

int my_cluster_check(MYSQL *db, const struct my_url *u, bool *ret_is_node, bool *ret_is_donor,
                     struct err *err)
{
	struct node n = { 0 };
	int r = cluster_take(db, u, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'", &n, err);

	*ret_is_node = r == 0 && strcmp(n.is_on, "ON") == 0;
	*ret_is_donor = false;
	if (!*ret_is_node)
		return r;
	r = cluster_take(db, u, "SHOW GLOBAL STATUS LIKE 'wsrep\\_%'", &n, err);
	if (r < 0)
		return r;
	bool is_up = strcmp(n.is_ready, "ON") == 0 && strcmp(n.status, "Primary") == 0;
	if (is_up && *n.state == '0' + STATE_SYNCED)
		return 0;
	*ret_is_donor = is_up && *n.state == '0' + STATE_DONOR;
	return err_set(err, E_AGAIN,
	               "%s:%u: the node is not in step with its cluster: wsrep_ready %s, %s, %s",
	               db->host ? db->host : u->hosts[0].name, db->port, n.is_ready, n.status,
	               n.words);
}

int my_cluster_catch_up(MYSQL *db, const struct my_url *u, bool always, struct err *err)
{
	const char *const texts[] = { "SET SESSION wsrep_sync_wait = 1", "SELECT 1",
		                      "SET SESSION wsrep_sync_wait = 0" };
	bool is_over;

	for (size_t i = 0; i < (always ? 1 : 3); i++) {
		if (mysql_real_query(db, texts[i], strlen(texts[i])))
			return my_failure(db, u, texts[i], &is_over, err) < 0 ? E_AGAIN : 0;
		mysql_free_result(mysql_store_result(db)); /* NULL is fine */
	}
	return 0;
}
