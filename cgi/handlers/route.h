/* route.h — which handler answers. */
#ifndef CGI_ROUTE_H
#define CGI_ROUTE_H

#include <stddef.h>

#include "cgi/http/call.h"

/* What this process answers: the rows of routes.def, then those that seeds_register() adds. The
 * main thread fills it before the face listens; then it is fixed, and any thread reads it. */
struct routes {
	struct route *items;
	size_t n;
};

struct routes *routes_new(void);                            /* with the rows of routes.def */
void routes_free(struct routes *l);                         /* NULL is fine */
void routes_add(struct routes *l, const struct route *row); /* copied; its texts are static */

/* Find the route of `method` and of the path of a raw request target (up to its '?'), filling
 * `params`.
 *
 *   errors  E_NOT_FOUND; E_UNSUPPORTED another method has it: ret_allow lists those
 *           that do; E_INVALID a parameter with broken %-escapes, %00, or too long
 */
int route_find(const struct routes *l, const char *method, const char *target,
               const struct route **ret_route, char params[CALL_PARAMS_MAX][CALL_PARAM_BYTES],
               char ret_allow[64]);

/* Declared for the table; each in handle_*.c. */
#define ROUTE(method, path, role, scope, flags, handler) int handler(struct call *c);
#include "cgi/handlers/routes.def"
#undef ROUTE

#endif
