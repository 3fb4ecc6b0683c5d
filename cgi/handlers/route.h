/* route.h — which handler answers. */
#ifndef CGI_ROUTE_H
#define CGI_ROUTE_H

#include <stddef.h>

#include "cgi/http/call.h"

extern const struct route routes[];
extern const size_t routes_n;

/* Find the route of `method` and the raw path (up to '?' of the request target), filling `params`.
 *
 *   errors  E_NOT_FOUND; E_UNSUPPORTED another method has it: ret_allow lists those
 *           that do; E_INVALID a parameter with broken %-escapes, %00, or too long
 */
int route_find(const char *method, const char *path, size_t path_len,
               const struct route **ret_route, char params[CALL_PARAMS_MAX][CALL_PARAM_BYTES],
               char ret_allow[64]);

/* Declared for the table; each in handle_*.c. */
#define ROUTE(method, path, role, flags, handler) int handler(struct call *c);
#include "cgi/handlers/routes.def"
#undef ROUTE

#endif
