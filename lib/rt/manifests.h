/* manifests.h — the task types of a directory of manifests, TYPE.yaml each.
 *
 * Read again when a file was put there, replaced or taken away. One owner, one thread.
 */
#ifndef RT_MANIFESTS_H
#define RT_MANIFESTS_H

struct diags;
struct manifests;
struct type_set;

struct manifests *manifests_new(const char *dir); /* copied; "": there are none */
void manifests_free(struct manifests *m);         /* NULL is fine */

/* What is there now; a manifest that is wrong is left out. Borrowed until the next call. */
const struct type_set *manifests_types(struct manifests *m);
/* What was wrong the last time; borrowed likewise. */
const struct diags *manifests_wrong(const struct manifests *m);

#endif
