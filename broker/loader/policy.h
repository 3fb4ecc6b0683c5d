/* policy.h — what this machine's settings say about the processes of jobs: as which user they
 * may run, and how much of the machine one may take.
 */
#ifndef LOADER_POLICY_H
#define LOADER_POLICY_H

struct loader;
struct policy;
typedef struct Sirdar__KeeperStart Sirdar__KeeperStart;

/* The policy as it is now.
 *
 *   user    who the job asks to run as; "" and the broker's own user: as the broker
 *   owns    *ret_policy is the caller's
 *   errors  E_FORBIDDEN that user is not among `users`
 *   thread  any
 */
int policy_take(struct loader *l, const char *user, struct policy **ret_policy);

/* Fill in what a start says of it; borrowed from the policy. */
void policy_put(const struct policy *p, Sirdar__KeeperStart *m);

void policy_free(struct policy *p); /* NULL is fine */

#endif
