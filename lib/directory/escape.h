/* escape.h — what somebody typed, inside an LDAP filter (RFC 4515) or a DN (RFC 4514). */
#ifndef CGI_ESCAPE_H
#define CGI_ESCAPE_H

struct buf;

void escape_ldap(struct buf *out, const char *text);

#endif
