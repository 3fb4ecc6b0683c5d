/* The table of routes and how a request finds its row: the rows are compared in order, a
 * parameter is decoded and put into the form in which names are kept (NFC). The path is matched
 * first and the method second, so that a known path with another method is answered by the
 * methods that it takes. Filled before the face listens, and read by any thread afterwards. */
#include "cgi/handlers/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/name.h"
#include "util/alloc.h"
#include "util/check.h"

#define ROUTE(method, path, role, scope, flags, handler) \
	{ method, path, ROLE_##role, SCOPE_##scope, flags, handler },
static const struct route own[] = {
#include "cgi/handlers/routes.def"
};
#undef ROUTE

struct routes *routes_new(void)
{
	struct routes *l = mem_new(sizeof *l);

	l->n = sizeof own / sizeof own[0];
	l->items = mem_array(l->n, sizeof *l->items);
	memcpy(l->items, own, sizeof own);
	return l;
}

void routes_free(struct routes *l)
{
	if (!l)
		return;
	free(l->items);
	free(l);
}

void routes_add(struct routes *l, const struct route *row)
{
	CHECK(row->path[0] == '/' && row->run && row->role <= ROLE_ADMIN && row->scope);
	l->items = mem_grow(l->items, l->n + 1, sizeof *l->items);
	l->items[l->n++] = *row;
}

static int route_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int route_decode(const char *p, size_t n, char ret[CALL_PARAM_BYTES])
{
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		int ch = (unsigned char)p[i];

		if (ch == '%') {
			int high = i + 1 < n ? route_hex(p[i + 1]) : -1;
			int low = i + 2 < n ? route_hex(p[i + 2]) : -1;

			if (high < 0 || low < 0)
				return E_INVALID;
			ch = high << 4 | low;
			i += 2;
		}
		if (ch < 0x20 || ch == 0x7f || out + 1 >= CALL_PARAM_BYTES)
			return E_INVALID;
		ret[out++] = (char)ch;
	}
	ret[out] = '\0';
	char *nfc = name_nfc(ret); /* as names are kept */
	if (nfc && strlen(nfc) < CALL_PARAM_BYTES)
		memcpy(ret, nfc, strlen(nfc) + 1);
	free(nfc);
	return out > 0 ? 0 : E_INVALID;
}

/* 1: the path is this route's; 0: it is not; negative: it is, with a bad parameter. */
static int path_match(const char *pattern, const char *p, const char *end,
                      char params[CALL_PARAMS_MAX][CALL_PARAM_BYTES])
{
	size_t n_params = 0;

	while (*pattern != '\0') {
		const char *close, *stop;

		if (*pattern != '{') {
			if (p >= end || *p != *pattern)
				return 0;
			p++;
			pattern++;
			continue;
		}
		close = strchr(pattern, '}');
		if (close[-1] == '.') { /* {x...} */
			stop = end;
		} else {
			stop = memchr(p, '/', (size_t)(end - p));
			if (!stop)
				stop = end;
		}
		if (stop == p)
			return 0;
		if (close[1] == '\0' && stop != end)
			return 0;
		CHECK(n_params < CALL_PARAMS_MAX && stop > p && stop <= end);
		if (params && route_decode(p, (size_t)(stop - p), params[n_params++]) < 0)
			return E_INVALID;
		p = stop;
		pattern = close + 1;
	}
	return p == end;
}

int route_find(const struct routes *l, const char *method, const char *target,
               const struct route **ret_route, char params[CALL_PARAMS_MAX][CALL_PARAM_BYTES],
               char ret_allow[64])
{
	const char *end = target + strcspn(target, "?");

	ret_allow[0] = '\0';
	for (size_t i = 0; i < l->n; i++) {
		int r = path_match(l->items[i].path, target, end, NULL);

		if (r == 0)
			continue;
		if (strcmp(l->items[i].method, method) == 0) {
			r = path_match(l->items[i].path, target, end, params);
			if (r < 0)
				return r;
			*ret_route = &l->items[i];
			return 0;
		}
		if (!strstr(ret_allow, l->items[i].method))
			snprintf(ret_allow + strlen(ret_allow), 64 - strlen(ret_allow), "%s%s",
			         ret_allow[0] ? ", " : "", l->items[i].method);
	}
	return ret_allow[0] != '\0' ? E_UNSUPPORTED : E_NOT_FOUND;
}
