/* commander.h — carries out what people ask for, as durable commands (the seed's command
 * intervention).
 *
 * Folds the durable part of the ledger's stream into a catalog of tasks and unfinished
 * instances; turns a selection into proposals batch by batch, records one outcome per
 * instance and how far it got, and goes on from there after a restart. Queries run on
 * its thread as guests, for the catalog knows names. Rules: this room's README.md.
 */
#ifndef BASESERVER_COMMANDER_H
#define BASESERVER_COMMANDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baseserver/forecast/forecast.h"
#include "baseserver/model/front.h"
#include "baseserver/model/roster.h"
#include "sched/cost.h"

struct actor;
struct commander;
struct lead_view;
struct letter;
struct err;
struct ledger;
struct directories;
struct outsiders;
struct passwords;
struct secrets;
struct progress_news;
struct store;
struct thread;
struct worker;

/* Queries run on the commander's thread, over what it holds; it knows them as guests. */
struct commander_guests {
	void (*begin)(struct letter *request,
	              void *commander);      /* a struct client_request; owns it */
	void (*unpark)(struct commander *c); /* something became durable, or time has passed */
	void (*drop)(struct commander *c);   /* it ends */
};

struct commander_settings {
	size_t batch;                          /* command_batch: instances in one step */
	const char *timezone;                  /* the server's, borrowed */
	const char *types_dir;                 /* manifests of task types, borrowed; NULL: none */
	const char *secrets_key_file;          /* vault.h, borrowed; NULL: no secrets */
	int infra_max;                         /* of tasks; 0: the default */
	size_t tasks_max;                      /* graph_tasks_max; 0: any */
	struct cost_limits budget;             /* of documents and projects */
	size_t commands_max;                   /* person_commands_max; 0: any */
	size_t tests_person, tests_project;    /* person_tests_max, project_tests_max; 0: any */
	int64_t test_run_us;                   /* test_run_max_ms; 0: for ever */
	int64_t unfinished_max;                /* project_unfinished_max; 0: any */
	struct passwords *passwords;           /* borrowed; NULL: nobody signs in */
	const struct secrets *secrets;         /* borrowed; NULL: any source may be named */
	int64_t login_tries;                   /* login_tries_per_minute */
	struct outsiders *outsiders;           /* borrowed; NULL: no ID token is judged here */
	const char *oidc_issuer, *oidc_client; /* oidc_client_id; borrowed */
	const char *oidc_role;                 /* of who comes for the first time; borrowed */
	struct directories *directories;       /* borrowed; NULL: no directory is asked here */
	const char *ldap_url;                  /* borrowed */
	const char *ldap_role;                 /* of who comes for the first time; borrowed */
	const struct commander_guests *guests; /* query_guests; NULL: it takes no query */
};

/* Takes what the ledger loaded, and the commands that are not over. Before any thread runs.
 *
 *   store   only used by this call
 *   errors  those of the store; E_CORRUPT a stored command that does not read back
 */
int commander_new(struct thread *th, struct ledger *ledger, struct store *store,
                  const struct commander_settings *set, struct commander **ret_commander,
                  struct err *err);
void commander_free(struct commander *c); /* its thread is stopped; NULL is fine */
struct actor *commander_actor(const struct commander *c);

/* Was nothing ever committed to this store? Before any thread runs. */
bool commander_is_new(const struct commander *c);
/* Is there a person `admin`? *ret_is_first: nobody has changed what lets him in since he was made.
 * Before any thread runs. */
bool commander_admin(const struct commander *c, bool *ret_is_first);

/* For brokers' names and drains, and for queries; borrowed. Before any thread runs. */
void commander_set_front(struct commander *c, const struct front *front);

/* What was seen of the lease and of those who wait for it; copied. Thread: any. */
void commander_lead(struct commander *c, const struct lead_view *v);

/* Somebody of that name is there, or a broker runs that type. `commander`: a struct commander.
 * Thread: any. */
void commander_meets(void *commander, enum roster is, const char *name);

/* What etcd's registry has, as JSON: what the query `nodes` answers from now on. Owns json.
 * Thread: any. */
void commander_nodes(struct commander *c, char *json);

/* Carry out `r` (kind, request_id, actor, args, dry_run). The very letter comes back through
 * `answered`, once what it says is durable.
 *
 *   owns    on 0 the commander owns it until then
 *   errors  E_BUSY, E_CLOSED
 *   thread  any
 */
int commander_command(struct commander *c, struct client_request *r);
/* Somebody signs in at the face `r` is of (args, credential): docs/protocol-json.md. As above. */
int commander_sign_in(struct commander *c, struct client_request *r);
/* Answer the query `r` (kind, args), with the help of the actors that know. As above. */
int commander_query(struct commander *c, struct client_request *r);

/* What the notifier says of alerts (kind, args), kept in the store. As above. */
int commander_alerts(struct commander *c, struct client_request *r);
/* Session number `session` of worker w is the notifier's from now on; w NULL: that session is gone.
 * Thread: any. */
void commander_notifier(struct commander *c, struct worker *w, uint32_t session);

/* How far jobs say they are (progress.h). Owns n; dropped where there is no room. Thread: any. */
void commander_progress(struct commander *c, struct progress_news *n);

#endif
