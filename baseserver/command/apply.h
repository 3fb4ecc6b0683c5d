/* apply.h — from documents to one edit of definitions (internal to the commander). */
#ifndef BASESERVER_APPLY_H
#define BASESERVER_APPLY_H

struct jval;
struct refusal;

/* The argument `preview` before anything is recorded. errors  E_INVALID */
int apply_preview_check(const struct jval *args, struct refusal *f);

#endif
