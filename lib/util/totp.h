/* totp.h — codes of a second factor: RFC 6238 with SHA-1, six digits, 30 s; and recovery codes.
 *
 * Nothing here reads a clock or keeps anything: who judges a code hands in the time, and what was
 * accepted before.
 */
#ifndef UTIL_TOTP_H
#define UTIL_TOTP_H

#include <stdbool.h>
#include <stdint.h>

enum {
	TOTP_SECRET_BYTES = 20,
	TOTP_SECRET_TEXT = 33, /* in base32, with the NUL */
	TOTP_CODE_TEXT = 7,    /* with the NUL */
	TOTP_STEP_S = 30,
	TOTP_DRIFT = 1, /* steps that a clock may be wrong, either way */
	TOTP_RECOVERY_BYTES = 10,
	TOTP_RECOVERY_TEXT = 20, /* XXXX-XXXX-XXXX-XXXX */
	TOTP_HASH_TEXT = 65,     /* SHA-256 in hex */
};

void totp_secret_text(const unsigned char secret[TOTP_SECRET_BYTES], char ret[TOTP_SECRET_TEXT]);
/* False: that is no secret in base32. */
bool totp_secret_bytes(const char *text, unsigned char ret[TOTP_SECRET_BYTES]);

/* The code of a step: the time in s / TOTP_STEP_S. */
void totp_code(const unsigned char secret[TOTP_SECRET_BYTES], int64_t step,
               char ret[TOTP_CODE_TEXT]);
/* Whose code is it: a step that is TOTP_DRIFT from now at most, and later than `last`, which is the
 * one that was accepted last: a code is good once. -1: of none. */
int64_t totp_step(const unsigned char secret[TOTP_SECRET_BYTES], const char *code, int64_t now_s,
                  int64_t last);

/* One to be written down, of random bytes; and what is kept of it. False: it does not look like
 * one. Lower case, blanks and dashes are as good. */
void totp_recovery_text(const unsigned char bytes[TOTP_RECOVERY_BYTES],
                        char ret[TOTP_RECOVERY_TEXT]);
bool totp_recovery_hash(const char *text, char ret_hex[TOTP_HASH_TEXT]);

#endif
