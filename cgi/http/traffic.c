/* A row of counters for each route and one more for requests without a route: answers by
 * status, and a histogram of times. Rows are made with the table of routes and never move, so
 * that counting takes no lock: each number is an atomic of its own, and a reader may see one of
 * two that belong together. */
#include "cgi/http/traffic.h"

#include <stdio.h>
#include <stdlib.h>

#include "cgi/http/call.h"
#include "cgi/http/prometheus.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/timing.h"

/* Every status we answer with; the last one stands for others. */
static const int statuses[] = { 200, 201, 202, 204, 206, 302, 303, 304, 400, 401,
	                        403, 404, 405, 409, 410, 411, 412, 413, 414, 415,
	                        422, 428, 429, 431, 500, 501, 503, 504, 0 };

enum { STATUSES = sizeof statuses / sizeof statuses[0] };

struct row {
	_Atomic uint64_t answers[STATUSES];
	struct timing took;
};

struct traffic {
	const struct route *routes;
	size_t n;
	struct row *rows; /* by route; the last: none */
};

struct traffic *traffic_new(const struct route *routes, size_t n)
{
	struct traffic *t = mem_new(sizeof *t);

	t->routes = routes;
	t->n = n;
	t->rows = mem_array(n + 1, sizeof *t->rows);
	return t;
}

void traffic_free(struct traffic *t)
{
	if (!t)
		return;
	free(t->rows);
	free(t);
}

void traffic_count(struct traffic *t, const struct route *route, int status, int64_t us)
{
	size_t at = route ? (size_t)(route - t->routes) : t->n, i = 0;
	struct row *row = &t->rows[at];

	CHECK(at <= t->n && (!route || at < t->n)); /* of this table */
	while (i < STATUSES - 1 && statuses[i] != status)
		i++;
	atomic_fetch_add_explicit(&row->answers[i], 1, memory_order_relaxed);
	timing_share(&row->took, us);
}

static void answers_print(const struct row *row, const char *path, const char *method,
                          struct buf *out)
{
	for (size_t i = 0; i < STATUSES; i++) {
		uint64_t n = atomic_load_explicit(&row->answers[i], memory_order_relaxed);
		char status[8];

		if (n == 0)
			continue;
		snprintf(status, sizeof status, "%d", statuses[i]);
		prometheus_put(out, METRIC_HTTP,
		               (const char *const[]){ "route", path, "method", method, "code",
		                                      statuses[i] ? status : "other", NULL },
		               (int64_t)n);
	}
}

void traffic_print(const struct traffic *t, struct buf *out)
{
	struct timing_view v;

	prometheus_head(out, METRIC_HTTP);
	for (size_t i = 0; i <= t->n; i++)
		answers_print(&t->rows[i], i < t->n ? t->routes[i].path : "",
		              i < t->n ? t->routes[i].method : "", out);
	prometheus_head(out, METRIC_HTTP_TIME);
	for (size_t i = 0; i <= t->n; i++) {
		timing_read(&t->rows[i].took, &v);
		if (v.n == 0)
			continue;
		prometheus_timing(
			out, METRIC_HTTP_TIME,
			(const char *const[]){ "route", i < t->n ? t->routes[i].path : "", "method",
		                               i < t->n ? t->routes[i].method : "", NULL },
			&t->rows[i].took, 4);
	}
}
