/* s3.h — what the files of the S3-compatible home share; nobody else's but tests'. */
#ifndef HOME_S3_H
#define HOME_S3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fetch/fetch.h"
#include "home/home.h"
#include "util/buf.h"

enum { MD5_BYTES = 16, MD5_TEXT = 33, SHA256_TEXT = 65, PIECE_BYTES = 8 << 20 };

struct s3 {
	struct home_settings set;
	char *base;   /* http[s]://HOST[:PORT]/BUCKET */
	char *prefix; /* "" or ends with / */
	char *sign;   /* aws:amz:REGION:s3 */
	void *session;
	char *user, *secret, *token; /* NULL: none; wiped */
};

/* One question. `key` "": the bucket's; `query` "": none, else sorted and encoded. */
struct s3_ask {
	const char *method, *key, *query, *range; /* range: "bytes=0-9" or NULL */
	const void *body;                         /* NULL: none */
	size_t bytes;
	const char *type; /* of the body */
	size_t max;       /* of the answer */
	struct fetch_said *said;
};
/* *out is replaced. errors  those of home.h; E_NOT_FOUND */
int s3_ask(struct s3 *s, const struct s3_ask *ask, struct buf *out, struct err *err);
void s3_encode(struct buf *out, const char *text); /* all but letters, digits, - . _ ~ */
void s3_text_wipe(char **text);                    /* a secret one */

/* The upload of home_put_step(), home_put_done(). */
int s3_put_step(struct s3 *s, struct home_put *put, struct err *err);
void s3_put_done(struct s3 *s, struct home_put *put);

/* --- xml.c: what is read of an answer --- */

/* The next <tag>...</tag> from *at on: its content is not NUL-ended; *at moves behind it. */
bool xml_next(const char **at, const char *end, const char *tag, const char **ret, size_t *ret_n);
/* The text of the first <tag> in it, entities read; false: none, or it does not fit. */
bool xml_text(const char *from, size_t n, const char *tag, char *to, size_t cap);
/* "2026-11-24T09:30:00.000Z" in us; 0: it is no such time. */
int64_t xml_time_us(const char *text);

/* --- digest.c --- */

void sha256_text(const void *p, size_t n, char to[SHA256_TEXT]);
/* What such a store calls its things by; it guards nothing. False: it is not to be had. */
bool md5_bytes(const void *p, size_t n, uint8_t to[MD5_BYTES]);
void md5_text(const uint8_t md5[MD5_BYTES], char to[MD5_TEXT]);

#endif
