/* base64.h — bytes as the gateway writes them: RFC 4648, padded, one line. */
#ifndef ETCD_BASE64_H
#define ETCD_BASE64_H

#include <stddef.h>

struct buf;

void base64_put(struct buf *out, const void *bytes, size_t n);

/* owns    *ret_bytes is the caller's: free(); a NUL follows the n bytes
 * errors  E_INVALID not base64 of this form */
int base64_take(const char *text, char **ret_bytes, size_t *ret_n);

#endif
