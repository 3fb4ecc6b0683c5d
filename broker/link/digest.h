/* digest.h — what a file is, by its content. */
#ifndef LINK_DIGEST_H
#define LINK_DIGEST_H

#define DIGEST_HEX 65 /* SHA-256 as small hex digits, with the NUL */

#include <stddef.h>

struct err;

/* Of all that a descriptor has, from its beginning; its offset stays. errors  E_IO */
int digest_fd(int fd, char ret_hex[DIGEST_HEX], struct err *err);
/* Of bytes. errors  E_IO */
int digest_bytes(const void *data, size_t n, char ret_hex[DIGEST_HEX], struct err *err);
/* errors  E_NOT_FOUND, E_IO */
int digest_file(const char *path, char ret_hex[DIGEST_HEX], struct err *err);

#endif
