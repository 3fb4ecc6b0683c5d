/* call_impl.h — what face.c and the actors know of a call beside its handlers' view. */
#ifndef CGI_CALL_IMPL_H
#define CGI_CALL_IMPL_H

struct letter;

/* The letter of a call that no actor took: the wait ends with E_CLOSED. */
void call__discard(struct letter *l);

#endif
