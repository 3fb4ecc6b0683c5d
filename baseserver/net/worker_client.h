/* worker_client.h — what others ask of a worker besides its sessions. */
#ifndef BASESERVER_WORKER_CLIENT_H
#define BASESERVER_WORKER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

struct client_request;
struct command_news;
struct plugin_choices;
struct probe;
struct store_doc;
struct worker;

/* Give this broker's loaders no more work, or work again. Thread: any. */
/* How far a command is, to those who subscribed (front.h). Thread: any. */
void worker_news(struct worker *w, const struct command_news *n);

void worker_drain(struct worker *w, uint32_t broker, bool drained);
/* Which version of a type's plugin brokers run; owns p. Thread: any. */
void worker_plugin(struct worker *w, struct plugin_choices *p);
/* End a quarantine; broker 0: of all. Thread: any. */
void worker_release(struct worker *w, uint32_t broker, const char *type);
/* The same machine's daemons write as much about themselves; with a type its loader alone.
 * broker 0: of all. Thread: any. */
void worker_level(struct worker *w, uint32_t broker, const char *type, const char *level);
/* A peer has another document (d: copied), or (NULL) the keys have changed: sessions that may not
 * be here any more end. Thread: any. */
void worker_peer(struct worker *w, const struct store_doc *d);
/* Have a loader try to connect (probe.h); it comes back through `answered`. Owns p. Thread: any. */
void worker_probe(struct worker *w, struct probe *p);
/* Ask the notifier (session: r->session); r comes back through `answered`. Owns r. Thread: any. */
void worker_ask(struct worker *w, struct client_request *r);

#endif
