/* module.h — a part of a program that is a file of its own, loaded when it is asked for.
 *
 * So that who does not use it does not load the libraries behind it. Both sides are built
 * together; what differs is refused by who asks.
 */
#ifndef UTIL_MODULE_H
#define UTIL_MODULE_H

struct err;

/* Load FILE and find `symbol` in it. It stays loaded. Looked for in ../lib/sirdar/modules and
 * ../modules beside the program.
 *
 *   what    for the message: "the store's module"
 *   errors  E_NOT_FOUND (with the last place looked at), E_ABI no such symbol
 */
int module_load(const char *file, const char *what, const char *symbol, const void **ret,
                struct err *err);

#endif
