/* url.h — what is read off an address scheme://host[:port]/... */
#ifndef UTIL_URL_H
#define UTIL_URL_H

#include <stdbool.h>

struct err;

/* Is its host loopback? */
bool url_is_loopback(const char *url);
/* `setting` has it: https://, or http:// of loopback. errors  E_INVALID, E_FORBIDDEN */
int url_check(const char *setting, const char *url, struct err *err);

#endif
