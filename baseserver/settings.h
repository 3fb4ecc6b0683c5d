/* settings.h — what the server's actors are told of its settings (schema/tbl/param_baseserver.def).
 * Apart from the daemon, so that tests drive an actor by the names that people write. What is not
 * a setting (threads, what was loaded) its caller adds. Borrows p's texts. Thread: any.
 */
#ifndef BASESERVER_SETTINGS_H
#define BASESERVER_SETTINGS_H

#include "baseserver/command/commander.h"
#include "baseserver/keep/maintainer.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/net/logkeeper.h"
#include "baseserver/net/worker.h"

struct param_baseserver;

struct commander_settings settings_of_commander(const struct param_baseserver *p);
struct ledger_settings settings_of_ledger(const struct param_baseserver *p);
struct logkeeper_settings settings_of_logkeeper(const struct param_baseserver *p);
struct maintainer_settings settings_of_maintainer(const struct param_baseserver *p);
struct worker_settings settings_of_worker(const struct param_baseserver *p);

#endif
