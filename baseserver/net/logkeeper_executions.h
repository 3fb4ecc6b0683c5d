/* logkeeper_executions.h — executions of attempts by numbers, for who reads: tokens stay here.
 *
 * The executions of an attempt are counted from 1 in the order of their tokens, which is that of
 * their grants. Facts are as logs_of() gives them, in order. Pure.
 */
#ifndef BASESERVER_LOGKEEPER_EXECUTIONS_H
#define BASESERVER_LOGKEEPER_EXECUTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baseserver/net/logkeeper.h"
#include "logs/logs.h"

/* Make a name that leaves the attempt open, or not, whole by an execution's number: of the last
 * attempt of which anything is known. False: there is no such execution. */
bool log_execution_find(const struct log_facts *all, size_t n, struct log_name *name,
                        uint32_t execution);

/* Was a later execution of the attempt granted than the one that the name says? */
bool log_execution_is_lost(const struct log_facts *all, size_t n, const struct log_name *name);

/* Those that the name leaves open, in order, the last LOG_KNOWN_MAX.
 *
 *   owns    *ret is the caller's to free(); NULL with 0
 */
size_t log_executions_list(const struct log_facts *all, size_t n, const struct log_name *name,
                           struct log_known **ret);

#endif
