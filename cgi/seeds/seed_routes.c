#include "cgi/seeds/seed_routes.h"

#include "cgi/handlers/route.h"
#include "cgi/http/cgi.h"
#include "cgi/seeds/seed.h"

#define ROUTE(method, path, role, scope, flags, handler) \
	{ method, path, ROLE_##role, SCOPE_##scope, flags, handler },
static const struct route of_seeds[] = {
#include "cgi/seeds/routes_seeds.def"
};
#undef ROUTE

void seeds_register(struct cgi *cgi)
{
	for (size_t i = 0; i < sizeof of_seeds / sizeof of_seeds[0]; i++)
		if (seed_setting(&cgi->param, of_seeds[i].flags)[0] != '\0')
			routes_add(cgi->routes, &of_seeds[i]);
	cgi->words_of_seed = seed_error;
}
