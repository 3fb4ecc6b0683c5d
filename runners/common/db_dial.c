/* db_dial.c — where the clients of databases connect to. They resolve names and dial by themselves,
 * also a second time to cancel: the host's connect() asks here, with the address itself. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runners/common/db_impl.h"
#include "runners/common/run.h"
#include "sirdar/dial.h"

static void dial_tell(struct db *db, const char *at, unsigned port, const char *why)
{
	char ends[16] = "", wants[16] = "";

	if (port) {
		snprintf(ends, sizeof ends, ":%u", port);
		snprintf(wants, sizeof wants, " %u", port);
	}
	snprintf(db->refused, sizeof db->refused,
	         "%.107s%s is a%s %s%s: wants \"allow %.107s%s\" in this machine's egress file, "
	         "%.90s",
	         at, ends, strchr("aeiou", *why) ? "n" : "", why, port ? " address" : "", at, wants,
	         db->guard.file);
}

static int may_local(struct db *db, const struct sockaddr *to, uint32_t len)
{
	struct sockaddr_un local = { 0 };

	memcpy(&local, to, len < sizeof local ? len : sizeof local - 1);
	if (!local.sun_path[0]) {
		snprintf(db->refused, sizeof db->refused,
		         "a local socket without a path: no line of this machine's egress file "
		         "allows one (%.100s)",
		         db->guard.file);
		return 0;
	}
	const char *why = guard_refuses_local(&db->guard, local.sun_path);

	if (why)
		dial_tell(db, local.sun_path, 0, why);
	return !why;
}

static int dial_may(void *ctx, const struct sockaddr *to, uint32_t len)
{
	struct db *db = ctx;
	struct sockaddr_in6 in6 = { 0 };
	char text[INET6_ADDRSTRLEN] = "?";

	if (len < sizeof to->sa_family || to->sa_family == AF_UNSPEC)
		return 1; /* dissolves what was connected */
	if (to->sa_family == AF_UNIX)
		return may_local(db, to, len);
	memcpy(&in6, to, len < sizeof in6 ? len : sizeof in6);
	const char *why = guard_refuses(&db->guard, (const struct sockaddr *)(const void *)&in6);

	if (!why)
		return 1;
	/* The port of IPv4 lies where that of IPv6 does. */
	inet_ntop(
		to->sa_family,
		to->sa_family == AF_INET
			? (const void *)&((const struct sockaddr_in *)(const void *)&in6)->sin_addr
			: (const void *)&in6.sin6_addr,
		text, sizeof text);
	dial_tell(db, text, ntohs(in6.sin6_port), why);
	return 0;
}

static const struct runner_dial *lent(const struct db *db)
{
	const struct runner_host *host = db->run->host;

	return host->extension(host->ctx, RUNNER_DIAL_ID);
}

int db__dial_begin(struct db *db)
{
	const struct runner_dial *dial = lent(db);

	db->refused[0] = 0;
	if (!dial) {
		snprintf(db->why, sizeof db->why, "this broker cannot judge where a job connects");
		return DB_NO_POLICY;
	}
	dial->judge(dial_may, db);
	return DB_OK;
}

int db__dial_end(struct db *db, int code)
{
	lent(db)->judge(NULL, NULL);
	if (code != DB_AWAY || !db->refused[0])
		return code;
	snprintf(db->why, sizeof db->why, "%s", db->refused);
	return DB_BARRED;
}
