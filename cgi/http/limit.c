/* A refusal for which a client need not guess: the limit by the name of its setting, how much it
 * is, and until when; counted by limit. Whether one is reached is said elsewhere. */
#include "cgi/http/limit.h"

#include <stdio.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/http/prometheus.h"
#include "sched/when.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/json_put.h"
#include "util/log.h"

static const char *const names[] = {
#define LIMIT(NAME, setting) #setting,
#include "cgi/http/limits.def"
#undef LIMIT
};

int limit_refuse(struct call *c, enum limit which, int64_t most, int64_t wait_s, const char *fmt,
                 ...)
{
	int64_t now = clock_wall_us(&clock_machine) / US_PER_S;
	char text[sizeof c->err.text];
	va_list ap;

	CHECK(wait_s >= 0);
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	c->retry_after_s = wait_s > 0 ? (int)wait_s : 1;
	buf_clear(&c->details);
	put_open(&c->details, NULL, '{');
	put_text(&c->details, "limit", names[which]);
	put_int(&c->details, "max", most);
	if (wait_s > 0)
		put_time(&c->details, "until", now + wait_s);
	else
		put_null(&c->details, "until");
	put_close(&c->details, '}');
	atomic_fetch_add_explicit(&c->cgi->limited[which], 1, memory_order_relaxed);
	log_debug("http.limited", "request=%s limit=%s actor=%s address=%s", c->request_id,
	          names[which], c->actor, c->address);
	return call_fail(c, E_LIMIT, names[which], "%s (%s)", text, names[which]);
}

void limits_print(const struct cgi *cgi, struct buf *out)
{
	prometheus_head(out, METRIC_CGI_LIMITED);
	for (int i = 0; i < LIMITS_N; i++)
		prometheus_put(out, METRIC_CGI_LIMITED,
		               (const char *const[]){ "limit", names[i], NULL },
		               (int64_t)atomic_load(&cgi->limited[i]));
}
