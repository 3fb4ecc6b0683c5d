/* Clients of databases and of HTTP say in words why they could not connect, and several of them say
 * it in no other way. The first row whose words are there counts: what names the database or the
 * person stands before what could be a part of such a name. */
#include "runners/common/probe.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *words;
	int outcome;
} rows[] = {
	{ "asks for the password itself", RUNNER_PROBE_TLS },
	{ "to database '", RUNNER_PROBE_DATABASE }, /* MySQL: no right to it */
	{ "Unknown database", RUNNER_PROBE_DATABASE },
	{ "FATAL:  database \"", RUNNER_PROBE_DATABASE },
	{ "unable to open database file", RUNNER_PROBE_DATABASE },
	{ "not a database", RUNNER_PROBE_DATABASE },
	{ "Access denied for user", RUNNER_PROBE_LOGIN },
	{ "authentication failed", RUNNER_PROBE_LOGIN },
	{ "FATAL:  role \"", RUNNER_PROBE_LOGIN },
	{ "no password supplied", RUNNER_PROBE_LOGIN },
	{ "pg_hba.conf", RUNNER_PROBE_LOGIN },
	{ "Unknown server host", RUNNER_PROBE_NAME },
	{ "Unknown MySQL server host", RUNNER_PROBE_NAME },
	{ "could not translate host name", RUNNER_PROBE_NAME },
	{ "Could not resolve host", RUNNER_PROBE_NAME },
	{ "no answer within", RUNNER_PROBE_LATE },
	{ "imed out", RUNNER_PROBE_LATE },
	{ "timeout", RUNNER_PROBE_LATE },
	{ "(110", RUNNER_PROBE_LATE },
	{ "certificate", RUNNER_PROBE_TLS },
	{ "SSL", RUNNER_PROBE_TLS },
	{ "TLS", RUNNER_PROBE_TLS },
	{ "onnection refused", RUNNER_PROBE_REFUSED },
	{ "Can't connect", RUNNER_PROBE_REFUSED },
	{ "Couldn't connect", RUNNER_PROBE_REFUSED },
	{ "Failed to connect", RUNNER_PROBE_REFUSED },
	{ "No route to host", RUNNER_PROBE_REFUSED },
	{ "unreachable", RUNNER_PROBE_REFUSED },
	{ "No such file or directory", RUNNER_PROBE_REFUSED }, /* a socket */
};

int probe_end(const struct run *r, int outcome, const char *why)
{
	run_end(r, RUNNER_BY_CODE, "%s", why);
	return outcome;
}

int probe_failed(const struct run *r, const char *why)
{
	int outcome = RUNNER_PROBE_OTHER;

	for (size_t i = sizeof rows / sizeof rows[0]; i-- > 0;)
		if (strstr(why, rows[i].words))
			outcome = rows[i].outcome;
	return probe_end(r, outcome, why);
}
