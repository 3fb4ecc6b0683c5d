/* hear.h — what etcd's JSON gateway answers, as data. Pure: text in, struct out.
 *
 * The gateway writes 64-bit numbers as strings, bytes in base64, and leaves out whatever is
 * zero: a refused transaction has no "succeeded", a put no "type", a dead lease no "TTL".
 */
#ifndef ETCD_HEAR_H
#define ETCD_HEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define ETCD_ANSWER_BYTES_MAX (8 << 20)

/* A key and its value; a NUL follows both. */
struct etcd_kv {
	char *key, *value;
	size_t key_len, value_len;
	int64_t create_revision, mod_revision, lease;
	bool is_deleted; /* of a watch: the key is gone; value is "" */
};

struct etcd_answer {
	char cluster[24]; /* "" when the answer has no header */
	int64_t revision;
	struct etcd_kv *kvs; /* of a range, a watch, or a transaction's first range */
	size_t n;
	bool more;                           /* of a range: there are others */
	bool succeeded;                      /* of a transaction */
	int64_t lease, ttl_s;                /* of a lease */
	char *token;                         /* of an authentication; NULL: none */
	bool created, canceled, is_progress; /* of a watch */
	int64_t compact_revision;            /* canceled, because this is the oldest there is */
	char why[200];                       /* canceled: the reason, or "" */
};

/* Read one answer.
 *
 *   owns    *ret is the caller's: etcd_answer_done()
 *   errors  what etcd refused with, by its code: E_AUTH, E_FORBIDDEN, E_NOT_FOUND, E_STALE
 *           (compacted), E_AGAIN, E_INVALID; E_PROTOCOL it is no answer of etcd */
int etcd_hear(const char *text, size_t n, struct etcd_answer *ret, struct err *err);
void etcd_answer_done(struct etcd_answer *a); /* all zero is fine */

#endif
