/* role.h — what people and programs may do; each role may do what those before it may. */
#ifndef CGI_ROLE_H
#define CGI_ROLE_H

#include <stdbool.h>

enum role { ROLE_NONE, ROLE_VIEWER, ROLE_DEVELOPER, ROLE_OPERATOR, ROLE_ADMIN };

const char *role_name(enum role r); /* "viewer"; ROLE_NONE: "public" */
bool role_from_name(const char *name, enum role *ret_role);

#endif
