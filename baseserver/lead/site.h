/* site.h — what a server has whether it leads or waits: its directory, its name, its keys.
 */
#ifndef BASESERVER_SITE_H
#define BASESERVER_SITE_H

#include <stdint.h>

#include "store/store.h"
#include "wire/pair.h"

struct cluster;
struct err;
struct keys;
struct param_baseserver;
struct warm;

struct site {
	const struct param_baseserver *p;
	char store_url[4200];
	char who[128];     /* NAME/ID: drawn once for the state directory, for good */
	char address[160]; /* where brokers and the cgi find this server */
	struct keys *keys;
	struct pair own; /* with which it proves to peers that it is this server */
	int lock_fd;
	struct cluster *cluster; /* NULL: no etcd is configured */
	/* While it leads. */
	struct store *store;
	uint32_t epoch;
	struct warm *warm; /* what was followed while it waited; NULL: nothing */
	/* Signals while it waits or leads. */
	int (*reload)(void *ctx); /* 0 or an error; E_LIMIT: no descriptor was free */
	void *reload_ctx;
};

/* Lock state_dir, find or draw the name, read the keys, be known to etcd.
 *   errors  E_BUSY another server runs on this directory; E_INVALID, E_IO, those of keys_open()
 *           and cluster_open() */
int site_open(struct site *s, const struct param_baseserver *p, struct err *err);
/* Would site_open() take the store's address and the keys? It makes and locks nothing. errors
 * as its */
int site_check(const struct param_baseserver *p, struct err *err);
/* The pair that is kept in state_dir; drawn when there is none. errors  E_INVALID, E_IO */
int site_pair(const struct param_baseserver *p, struct pair *ret, struct err *err);
void site_close(struct site *s); /* all zero is fine; the store must be closed */

#endif
