/* pwhash.h — is this text a password's hash, and does it cost no more than ours do?
 *
 * An argon2id hash says itself how much memory and how many passes it takes to try a password. Who
 * may write one (an administrator, the file of a cgi that was taken over) could so have each try
 * take hours: what costs more than PWHASH_PASSES passes over PWHASH_KIB is no hash to us.
 */
#ifndef UTIL_PWHASH_H
#define UTIL_PWHASH_H

#include <stdbool.h>

enum {
	PWHASH_KIB = 262144, /* of one pass: libsodium's "moderate" */
	PWHASH_PASSES = 3,   /* over so much; more of them over less */
};

/* `text` ends with its NUL. Thread: any. */
bool pwhash_ok(const char *text);

#endif
