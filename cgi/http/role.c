#include "cgi/http/role.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = { "public", "viewer", "developer", "operator", "admin" };

const char *role_name(enum role r)
{
	return names[r];
}

bool role_from_name(const char *name, enum role *ret_role)
{
	for (size_t i = ROLE_VIEWER; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(name, names[i]) == 0) {
			*ret_role = (enum role)i;
			return true;
		}
	}
	return false;
}
