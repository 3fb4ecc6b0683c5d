/* module.h — a store that is a file of its own, loaded when its url is asked for.
 *
 * So that a program that keeps its store in SQLite does not load a database's client and the
 * TLS library behind it. Both sides are built together; what differs is refused.
 */
#ifndef STORE_MODULE_H
#define STORE_MODULE_H

#include <stddef.h>
#include <stdint.h>

#define STORE_MODULE_ABI    2
#define STORE_MODULE_SYMBOL "sirdar_store_module"

struct admin_ops;
struct err;
struct read_ops;
struct store_ops;

struct store_module {
	uint32_t abi;
	size_t ops_size, batch_size; /* of struct store_ops, struct store_batch */
	const struct store_ops *ops;
	const struct read_ops *reading;
	const struct admin_ops *admin;
};

/* Load store_NAME.so and give its verbs (each may be NULL). It stays loaded. Looked for in
 * ../lib/sirdar/modules and ../modules beside the program.
 *
 * errors  E_NOT_FOUND (with the places looked at), E_ABI
 */
int store_module_load(const char *name, const struct store_ops **ret_ops,
                      const struct read_ops **ret_reading, struct err *err);
/* The same for the offline tool's part of it. */
int store_module_load_admin(const char *name, const struct admin_ops **ret, struct err *err);

#endif
