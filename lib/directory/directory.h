/* directory.h — an LDAP directory: is this the password of that person, and what does it say of
 * whoever it is?
 *
 * Asked by libldap, in its module (directory/ldap/), so that a daemon without a directory does not
 * load it: calls block. One thread owns it.
 */
#ifndef DIRECTORY_DIRECTORY_H
#define DIRECTORY_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

struct directory;
struct err;

/* Texts are borrowed for as long as it is open; "": not used. In filter, user_dn and group_filter
 * `%u` is the name that was typed, in group_filter `%d` the person's DN. */
struct directory_settings {
	const char *url, *ca_file;
	bool start_tls;
	const char *bind_dn, *bind_secret_file;      /* who searches; "" anonymous */
	const char *user_dn;                         /* bind as this at once */
	const char *base, *filter;                   /* else search for the one entry */
	const char *group_base, *group_filter;       /* groups that name the person */
	const char *group_attribute;                 /* groups that the person names: memberOf */
	const char *name_attribute, *mail_attribute; /* cn, mail */
	int64_t timeout_ms;                          /* of each step */
};

struct directory_answer {
	char subject[401], full_name[201], mail[201];
	void *ctx;
	void (*group)(void *ctx, const char *dn); /* called once for each */
};

/* What would send a password in the clear beyond loopback is refused, as is what finds everybody.
 *   errors  E_INVALID, E_FORBIDDEN settings; E_NOT_FOUND, E_ABI the module */
int directory_open(const struct directory_settings *set, struct directory **ret, struct err *err);
void directory_close(struct directory *d); /* NULL is fine */

/*   errors  E_AUTH wrong user or password; E_AGAIN, E_TIMEOUT the directory does not answer, or
 *           refuses who searches; E_INVALID what was asked of it, by the settings */
int directory_sign_in(struct directory *d, const char *user, const char *password,
                      struct directory_answer *ret, struct err *err);

#endif
