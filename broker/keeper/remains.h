/* remains.h — the end of what a jobkeeper left running that is gone. Nobody says of its jobs that
 * they are gone before: the next jobkeeper sees to it at its start, and where there is none,
 * whoever is left on its machine.
 *
 * Compile broker/keeper/remains.c, tree.c, tree_scan.c and limiter.c into your program.
 */
#ifndef KEEPER_REMAINS_H
#define KEEPER_REMAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kill what is left of the jobs of the keeper of `state_dir`: all that its groups hold, and what
 * carries one of these tokens. True: no keeper lives there, and nothing is left. Does not wait: ask
 * again while it is false.
 *   cgroup   the setting, where the keeper did not note its place */
bool remains_end(const char *state_dir, const char *cgroup, const uint64_t *tokens, size_t n);

#endif
