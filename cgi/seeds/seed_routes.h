/* seed_routes.h — the routes of the seeds, there while their settings name a project. */
#ifndef CGI_SEEDS_SEED_ROUTES_H
#define CGI_SEEDS_SEED_ROUTES_H

struct call;
struct cgi;

/* Adds the routes of each seed whose setting names a project to cgi->routes, and tells http/ how
 * seeds word an error. The caller does it before traffic_new() and the face, which keep the table.
 * Thread: main */
void seeds_register(struct cgi *cgi);

/* Declared for the table; each in the file of its seed. */
#define ROUTE(method, path, role, scope, flags, handler) int handler(struct call *c);
#include "cgi/seeds/routes_seeds.def"
#undef ROUTE

#endif
