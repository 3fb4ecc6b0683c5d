/* trust.h — may machines that give projects no users of their own have a project's jobs?
 *
 * An administrator's mark, a document of kind DOC_TRUST by the name of the project; of who has
 * none, the setting trust_new_projects says it. Plain data of one actor.
 */
#ifndef BASESERVER_TRUST_H
#define BASESERVER_TRUST_H

#include <stdbool.h>

struct doc;
struct docs;

/* `name`: of a project, or of a workflow or task of it. */
bool trust_of(const struct docs *trusts, const char *name, bool unsaid);
/* Of one that had work before there was such a mark: no person has said it yet. */
bool trust_is_unasked(const struct doc *d);

#endif
