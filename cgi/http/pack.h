/* pack.h — answers packed for the way, by whatever of zstd and gzip the client takes. */
#ifndef CGI_PACK_H
#define CGI_PACK_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

#define PACK_BYTES_MIN 2048 /* less is sent as it is */

/* Is this coding taken by an Accept-Encoding (or NULL)? "gzip;q=0" refuses it. */
bool pack_taken(const char *accept, const char *coding);
/* The bytes packed into ret_packed, and the name of the coding; NULL: they stay as they are. */
const char *pack(const char *accept, const void *p, size_t n, struct buf *ret_packed);

#endif
