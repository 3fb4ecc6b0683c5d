/* policy.h — what this machine's settings say about the processes of jobs: as which user they
 * may run, and how much of the machine one may take.
 */
#ifndef LOADER_POLICY_H
#define LOADER_POLICY_H

struct err;
struct loader;
struct policy;
typedef struct Sirdar__KeeperStart Sirdar__KeeperStart;

/* The policy as it is now.
 *
 *   project, wish, errors  as whose_find()
 *   owns    *ret_policy is the caller's
 *   thread  any
 */
int policy_take(struct loader *l, const char *project, const char *wish, struct policy **ret_policy,
                struct err *err);

/* Fill in what a start says of it; borrowed from the policy. */
void policy_put(const struct policy *p, Sirdar__KeeperStart *m);

void policy_free(struct policy *p); /* NULL is fine */

#endif
