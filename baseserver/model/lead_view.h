/* lead_view.h — what a server that leads has last seen of its lease and of who waits for it. Plain
 * data: filled by lead.c, shown by queries. */
#ifndef BASESERVER_LEAD_VIEW_H
#define BASESERVER_LEAD_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

enum { LEAD_NODES_MAX = 8 };

struct lead_view {
	struct store_lease lease; /* epoch 0: not yet read */
	struct store_node nodes[LEAD_NODES_MAX];
	size_t n;      /* of nodes */
	int64_t at_us; /* monotonic */
	/* The store's clock less ours, as last measured; 0: it has none. Nothing is timed
	 * by it; but one of the two is wrong, and then run dates may be. */
	int64_t clock_off_us;
	const char *elects; /* etcd, lease (a row of the store) or lock (of its directory) */
};

#endif
