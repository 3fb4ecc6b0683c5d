/* directory.h — the way to an LDAP directory: libldap, in a module of its own (cgi/who/ldap/), so
 * that a daemon that has no directory does not load it.
 */
#ifndef CGI_DIRECTORY_H
#define CGI_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIRECTORY_FILE   "cgi_ldap.so"
#define DIRECTORY_SYMBOL "sirdar_cgi_ldap"
#define DIRECTORY_ABI    1

struct err;

/* Borrowed for the call. Texts "": not used. In filter, user_dn and group_filter `%u` is the
 * name that was typed, in group_filter `%d` the person's DN; both are escaped for where they
 * stand. */
struct directory_ask {
	const char *url, *ca_file;
	bool start_tls;
	const char *bind_dn, *bind_secret;           /* who searches; "" anonymous */
	const char *user_dn;                         /* bind as this at once */
	const char *base, *filter;                   /* else search for the one entry */
	const char *group_base, *group_filter;       /* groups that name the person */
	const char *group_attribute;                 /* groups that the person names: memberOf */
	const char *name_attribute, *mail_attribute; /* cn, mail */
	int64_t timeout_ms;
	const char *user, *password; /* password: never empty */
};

struct directory_answer {
	char subject[401], full_name[201], mail[201];
	void *ctx;
	void (*group)(void *ctx, const char *dn); /* called once for each */
};

struct directory_ops {
	uint32_t abi;
	size_t ask_size, answer_size; /* of the two above */
	/* Blocks, timeout_ms for each step.
	 * errors  E_AUTH not he; E_AGAIN the directory does not answer, or refuses who searches;
	 *         E_INVALID what was asked of it, by the settings */
	int (*sign_in)(const struct directory_ask *ask, struct directory_answer *ret,
	               struct err *err);
};

#endif
