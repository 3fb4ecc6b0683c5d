/* lane.h — loaders of one type side by side on a machine.
 *
 * A loader has a lane: a number, 0 for the first. Another version's loader takes the next one, so
 * that what either was granted is known apart: at the server, at the jobkeeper and on disk. A
 * lane's file, which its loader locks, is there from before its first start until nothing of it is
 * left.
 */
#ifndef BROKER_LINK_LANE_H
#define BROKER_LINK_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LANES_MAX = 8 };

/* "TYPE", or "TYPE@LANE": what a lane is called at the jobkeeper and in names of files. The
 * caller's. */
char *lane_name(const char *type, uint32_t lane);
/* What the guests of a lane's loader are called at the jobkeeper: no lane. The caller's. */
char *lane_of_guests(const char *lane_name);
bool lane_is_of_guests(const char *name);
/* Path of its lock. The caller's. */
char *lane_lock(const char *state_dir, const char *type, uint32_t lane);
/* The lanes that there are of a type, in no order; at most `cap`. */
size_t lane_list(const char *state_dir, const char *type, uint32_t *ret_lanes, size_t cap);

#endif
