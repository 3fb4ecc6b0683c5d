/* dial.h — what the host lends for sirdar/dial.h. Linked with it, a program's own connect(),
 * sendto() and sendmsg() stand before libc's, for the libraries of plugins too. */
#ifndef LOADER_DIAL_H
#define LOADER_DIAL_H

#include <sirdar/dial.h>

extern const struct runner_dial dial_lent;

#endif
