/* cluster.h — what a server has in etcd for as long as it runs: its entry among the nodes, and
 * its part in the election of who leads. Each on a thread of its own, which waits for etcd.
 */
#ifndef BASESERVER_CLUSTER_H
#define BASESERVER_CLUSTER_H

#include <stdbool.h>

#include "etcd/etcd.h"

struct cluster;
struct election;
struct err;
struct param_baseserver;
struct site;

/* *ret is NULL when no etcd is configured. Signals are blocked.
 *   errors  those of member_open() and election_open() */
int cluster_open(const struct site *s, struct cluster **ret, struct err *err);
void cluster_close(struct cluster *c);            /* takes away what it has in etcd; NULL is fine */
void cluster_show(struct cluster *c, bool leads); /* NULL is fine */
/* NULL: the row in the store decides who leads. */
struct election *cluster_election(const struct cluster *c);

struct etcd_settings cluster_settings(const struct param_baseserver *p);

#endif
