/* The connection: made, lost, made again; statements; what a failure means. */
#include <mariadb/mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/mysql/mysql.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/err.h"
#include "util/fs.h"

#define PASSWORD_BYTES_MAX 1024
#define OLDEST_MARIADB     100500UL
#define OLDEST_MYSQL       80000UL

static const char session[] =
	"SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', time_zone = '+00:00',"
	" innodb_lock_wait_timeout = 5, lock_wait_timeout = 5, wait_timeout = 28800, autocommit = "
	"1";

void my_hang_up(struct my_store *s)
{
	if (s->db)
		mysql_close(s->db);
	for (size_t i = 0; i < MY_WIDE_COUNT; i++)
		if (s->wides[i]) { /* the server has forgotten it: only memory */
			mysql_stmt_close(s->wides[i]);
			s->wides[i] = NULL;
		}
	s->db = NULL;
	s->silence_set = false;
}

int my_fail(struct my_store *s, const char *what, struct err *err)
{
	bool is_over;
	int code = my_failure(s->db, &s->url, what, &is_over, err);

	if (mysql_errno(s->db) == ER_NO_PARTITION_FOR_GIVEN_VALUE)
		s->days_ahead_us = 0; /* looked for before the batch is repeated */
	if (is_over) {
		my_hang_up(s);
		my_way_lost(&s->way);
	}
	return code;
}

static int read_password(const struct my_url *u, char **ret, struct err *err)
{
	struct buf b;
	int r = 0;

	*ret = NULL;
	if (!u->password_file)
		return 0;
	buf_init(&b);
	r = fs_read_secret(u->password_file, PASSWORD_BYTES_MAX, &b, err);
	if (r == 0) {
		const char *text = buf_str(&b);

		*ret = mem_strn(text, strcspn(text, "\r\n"));
		explicit_bzero(b.data, b.cap);
	}
	buf_done(&b);
	return r < 0 ? err_wrap(err, r, "store: password_file") : 0;
}

static void set_options(MYSQL *db, const struct my_url *u)
{
	my_bool yes = 1, verify = u->tls == MY_TLS_VERIFY;
	unsigned zero = 0;

	mysql_optionsv(db, MYSQL_OPT_CONNECT_TIMEOUT, &u->timeout_s);
	mysql_optionsv(db, MYSQL_OPT_READ_TIMEOUT, &u->timeout_s);
	mysql_optionsv(db, MYSQL_OPT_WRITE_TIMEOUT, &u->timeout_s);
	mysql_optionsv(db, MYSQL_OPT_LOCAL_INFILE, &zero);
	mysql_optionsv(db, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (u->tls == MY_TLS_OFF)
		return;
	mysql_optionsv(db, MYSQL_OPT_SSL_ENFORCE, &yes);
	mysql_optionsv(db, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
	mysql_ssl_set(db, NULL, NULL, u->ca, NULL, NULL);
}

static int check_server(MYSQL *db, struct err *err)
{
	bool maria = strstr(mysql_get_server_info(db), "MariaDB") != NULL;
	unsigned long have = mysql_get_server_version(db);

	if (have < (maria ? OLDEST_MARIADB : OLDEST_MYSQL))
		return err_set(err, E_VERSION,
		               "%s:%u: the server is %.60s: MariaDB 10.5 or MySQL 8.0 is needed",
		               db->host, db->port, mysql_get_server_info(db));
	return 0;
}

/* MYSQL_OPT_SSL_ENFORCE alone is not enough: Connector/C 3.3 goes on in the clear when the server
 * has no TLS and its certificate is not to be verified. */
static int check_tls(const struct my_url *u, MYSQL *db, struct err *err)
{
	if (u->tls == MY_TLS_OFF || mysql_get_ssl_cipher(db))
		return 0;
	return err_set(err, E_AUTH,
	               "%s:%u: not encrypted, the server has no TLS (SSL); tls=off allows it",
	               db->host, db->port);
}

/* What one host is good for. */
struct trial {
	const struct my_url *u;
	const char *password;
	bool spare_too, saw_spare; /* gives its state to another, or takes no writes */
};

/* A replica answers as well, and would refuse each commit. */
static int check_writable(struct trial *t, MYSQL *db, struct err *err)
{
	bool is_over, is_read_only = false;
	MYSQL_RES *res;
	MYSQL_ROW row;

	if (mysql_query(db, "SELECT @@global.read_only") || !(res = mysql_store_result(db)))
		return my_failure(db, t->u, "read_only", &is_over, err);
	row = mysql_fetch_row(res);
	is_read_only = row && row[0] && strcmp(row[0], "0") != 0;
	mysql_free_result(res);
	t->saw_spare |= is_read_only;
	return is_read_only && !t->spare_too
	               ? err_set(err, E_AGAIN, "%s:%u: the server is read-only", db->host, db->port)
	               : 0;
}

static int open_session(struct trial *t, struct my_way *way, MYSQL *db, struct err *err)
{
	bool is_over, is_donor = false;
	int r = check_server(db, err);

	if (r == 0)
		r = check_tls(t->u, db, err);
	if (r == 0)
		r = my_cluster_check(db, t->u, &way->is_node, &is_donor, err);
	t->saw_spare |= is_donor;
	if (is_donor && t->spare_too)
		r = 0;
	if (r == 0 && t->u->n_hosts > 1)
		r = check_writable(t, db, err);
	if (r == 0 && mysql_real_query(db, session, sizeof session - 1))
		r = my_failure(db, t->u, "session", &is_over, err);
	if (r == 0 && way->is_node)
		r = my_cluster_catch_up(db, t->u, way->reads, err);
	return r;
}

static int connect_to(struct trial *t, struct my_way *way, MYSQL **ret, struct err *err)
{
	CHECK(way->host < t->u->n_hosts && t->u->n_hosts <= MY_HOSTS_MAX);
	const struct my_host *h = &t->u->hosts[way->host];
	MYSQL *db = mysql_init(NULL);
	bool is_over;
	int r = 0;

	if (!db)
		return err_set(err, E_NOMEM, "mysql_init");
	set_options(db, t->u);
	if (!mysql_real_connect(db, h->name, t->u->user, t->password, t->u->database, h->port,
	                        t->u->socket, CLIENT_REMEMBER_OPTIONS))
		r = my_failure(db, t->u, "connect", &is_over, err);
	if (r == 0)
		r = open_session(t, way, db, err);
	if (r < 0)
		mysql_close(db);
	else
		*ret = db;
	return r;
}

int my_connect(const struct my_url *u, struct my_way *way, MYSQL **ret, struct err *err)
{
	CHECK(u->n_hosts > 0);
	struct trial t = { .u = u };
	size_t first = way->host % u->n_hosts;
	char *password = NULL;
	int r = read_password(u, &password, err);

	if (r < 0)
		return r;
	t.password = password;
	/* The next one only when this one does not answer: a wrong password is wrong. */
	r = E_AGAIN;
	do {
		t.spare_too = t.saw_spare;
		for (size_t i = 0; i < u->n_hosts && r == E_AGAIN; i++) {
			way->host = (first + i) % u->n_hosts;
			r = connect_to(&t, way, ret, err);
		}
	} while (r == E_AGAIN && t.saw_spare && !t.spare_too);
	if (r < 0)
		way->host = first;
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
	return r;
}

void my_way_lost(struct my_way *way)
{
	way->host = way->is_node ? way->host + 1 : 0;
}

static int my_set_silence(MYSQL *db, uint32_t seconds, struct err *err)
{
	char text[100];
	int n = snprintf(text, sizeof text, "SET SESSION wait_timeout = %u, net_read_timeout = %u",
	                 seconds ? seconds : 28800, seconds ? seconds : 30);

	return mysql_real_query(db, text, (unsigned long)n) == 0
	               ? 0
	               : err_set(err, E_AGAIN, "%s: %s", text, mysql_error(db));
}

int my_ready(struct my_store *s, struct err *err)
{
	int r = s->db ? 0 : my_connect(&s->url, &s->way, &s->db, err);

	if (r == 0 && s->silence_s && !s->silence_set) {
		r = my_set_silence(s->db, s->silence_s, err);
		s->silence_set = r == 0;
		if (r < 0)
			my_hang_up(s);
	}
	return r;
}

/* What came after that would be committed statement by statement. */
int my_still_in(struct my_store *s, const char *what, struct err *err)
{
	unsigned status = 0;

	if (!s->is_proven ||
	    mariadb_get_infov(s->db, MARIADB_CONNECTION_SERVER_STATUS, &status) != 0 ||
	    status & SERVER_STATUS_IN_TRANS)
		return 0;
	err_set(err, E_BUSY, "mysql://%s@%s:%u/%s: %.60s: the server has ended the transaction",
	        s->url.user, s->db->host ? s->db->host : "", s->db->port, s->url.database, what);
	my_hang_up(s);
	return E_BUSY;
}

int my_run(struct my_store *s, const char *text, size_t len, struct err *err)
{
	char what[64];

	snprintf(what, sizeof what, "%.*s", len < 60 ? (int)len : 60, text);
	if (mysql_real_query(s->db, text, len))
		return my_fail(s, what, err);
	if (mysql_field_count(s->db)) { /* rows nobody wanted */
		MYSQL_RES *res = mysql_store_result(s->db);

		mysql_free_result(res);
	}
	return my_still_in(s, what, err);
}
