/* job.h — an instance as the message that goes to a loader, parameters with macros replaced. */
#ifndef BASESERVER_JOB_H
#define BASESERVER_JOB_H

#include "sirdar.pb-c.h"

struct instance;
struct lease_proof;
struct task;

struct param_value {
	char *name, *value; /* heap */
};

/* Owned by the caller; job_free(). `values`, n of them: the parameters, macros replaced; NULL:
 * those of the definition, which then names nothing outside itself. One whose macros cannot be
 * replaced goes as it was written: the check at save time has let it pass. */
Sirdar__Job *job_new(const struct task *def, const struct instance *i,
                     const struct param_value *values, size_t n);
/* What shows that it was given to its holder; copied. */
void job_set_proof(Sirdar__Job *j, const struct lease_proof *p);
void job_free(Sirdar__Job *j); /* NULL is fine */

/* Projects take turns in a list that leaves together: each one's next comes behind as many of
 * everybody else's as it has of its own before it; within a project the order stays. */
void jobs_take_turns(Sirdar__Job **jobs, size_t n);

#endif
