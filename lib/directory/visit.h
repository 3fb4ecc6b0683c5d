/* visit.h — one visit to an LDAP directory: what the module of libldap (directory/ldap/) is asked.
 * For directory.c and the module only; others include directory.h.
 */
#ifndef DIRECTORY_VISIT_H
#define DIRECTORY_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "directory/directory.h"

#define DIRECTORY_FILE   "ldap.so"
#define DIRECTORY_SYMBOL "sirdar_ldap"
#define DIRECTORY_ABI    2

struct err;

/* Borrowed for the call. */
struct directory_ask {
	struct directory_settings set;
	const char *bind_secret;     /* of set.bind_dn, "" anonymous */
	const char *user, *password; /* password: never empty */
};

struct directory_ops {
	uint32_t abi;
	size_t ask_size, answer_size; /* of the two structs */
	/* Blocks, timeout_ms for each step.
	 * errors  E_AUTH not he; E_AGAIN the directory does not answer, or refuses who searches;
	 *         E_INVALID what was asked of it, by the settings */
	int (*sign_in)(const struct directory_ask *ask, struct directory_answer *ret,
	               struct err *err);
};

#endif
