/* Rows for the audit, joined while they wait: a login waits for nothing, and a stranger who tries
 * ten thousand times leaves a row. Those who got in have room of their own, so that no flood of
 * wrong passwords pushes one of them out. s->mu guards all. */
#include "cgi/who/signs.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cgi/http/call.h"
#include "cgi/http/cgi.h"
#include "cgi/who/people.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json_put.h"
#include "util/network.h"

enum { ROWS_MAX = 100, WHO_BYTES = 136, ROUTE_BYTES = 80 };

static const char *const words[SIGNS_N] = {
	[SIGN_IN] = "in", [SIGN_WRONG] = "wrong", [SIGN_WAITS] = "waits", [SIGN_DENIED] = "denied"
};

struct sign_row {
	enum sign what;
	char who[WHO_BYTES], network[NETWORK_TEXT];
	char route[ROUTE_BYTES]; /* of what was denied; "" */
	int64_t count;
};

struct sign_rows {
	struct sign_row at[ROWS_MAX];
	size_t n;
};

struct signs {
	pthread_mutex_t mu;
	struct sign_rows in, rest;
	int64_t left_out[SIGNS_N];
	int64_t began_s; /* wall: the first of them; 0: there is none */
};

struct signs *signs_new(void)
{
	struct signs *s = mem_new(sizeof *s);

	pthread_mutex_init(&s->mu, NULL);
	return s;
}

void signs_free(struct signs *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->mu);
	free(s);
}

/* --- added ------------------------------------------------------------------------------ */

static bool is_known(const struct call *c, const char *who)
{
	const struct person *p = NULL;
	bool known = strcmp(who, "admin") == 0 || (c->actor && strcmp(who, c->actor) == 0) ||
	             people_find(c->cgi->people, who, &p) == 1;

	person_unref(p);
	return known;
}

static struct sign_row *sign_row_of(struct sign_rows *rows, const struct sign_row *like)
{
	for (size_t i = 0; i < rows->n; i++) {
		struct sign_row *r = &rows->at[i];

		if (r->what == like->what && strcmp(r->who, like->who) == 0 &&
		    strcmp(r->network, like->network) == 0 && strcmp(r->route, like->route) == 0)
			return r;
	}
	if (rows->n == ROWS_MAX)
		return NULL;
	rows->at[rows->n] = *like;
	return &rows->at[rows->n++];
}

void signs_add(struct call *c, enum sign what, const char *who)
{
	struct signs *s = c->cgi->signs;
	struct sign_row like = { .what = what };
	struct sign_row *row;

	if (is_known(c, who))
		snprintf(like.who, sizeof like.who, "%s", who);
	network_of(c->address, 3, like.network);
	if (what == SIGN_DENIED && c->route)
		snprintf(like.route, sizeof like.route, "%s %s", c->route->method, c->route->path);
	pthread_mutex_lock(&s->mu);
	row = sign_row_of(what == SIGN_IN ? &s->in : &s->rest, &like);
	if (row)
		row->count++;
	else
		s->left_out[what]++;
	if (s->began_s == 0)
		s->began_s = clock_wall_us(&clock_machine) / US_PER_S;
	pthread_mutex_unlock(&s->mu);
}

/* --- taken ------------------------------------------------------------------------------ */

static void rows_put(const struct sign_rows *rows, struct buf *out)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct sign_row *r = &rows->at[i];

		put_open(out, NULL, '{');
		put_text(out, "who", r->who);
		put_text(out, "network", r->network);
		put_text(out, "outcome", words[r->what]);
		if (r->route[0] != '\0')
			put_text(out, "route", r->route);
		put_int(out, "count", r->count);
		put_close(out, '}');
	}
}

bool signs_take(struct signs *s, struct buf *out)
{
	bool any;

	pthread_mutex_lock(&s->mu);
	any = s->began_s != 0;
	if (any) {
		put_open(out, NULL, '{');
		put_int(out, "began", s->began_s);
		put_open(out, "rows", '[');
		rows_put(&s->in, out);
		rows_put(&s->rest, out);
		put_close(out, ']');
		put_open(out, "left_out", '{');
		for (int i = 0; i < SIGNS_N; i++)
			if (s->left_out[i] > 0)
				put_int(out, words[i], s->left_out[i]);
		put_close(out, '}');
		put_close(out, '}');
	}
	s->in.n = s->rest.n = 0;
	memset(s->left_out, 0, sizeof s->left_out);
	s->began_s = 0;
	pthread_mutex_unlock(&s->mu);
	return any;
}
