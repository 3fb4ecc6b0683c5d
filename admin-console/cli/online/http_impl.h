/* http_impl.h — what http.c and flows.c share: a request made ready, and what its failure means. */
#ifndef CLI_HTTP_IMPL_H
#define CLI_HTTP_IMPL_H

#include <cjson/cJSON.h>

struct buf;
struct curl_slist;
struct online;

/* Set o->curl up for a request. The headers are the caller's to free once it is over. */
struct curl_slist *http__request(struct online *o, const char *method, const char *url,
                                 const char *body);
/* Say what the server said; `body`: what was sent, or NULL. An exit code. */
int http__refused(struct online *o, const cJSON *body, const struct buf *answer);
/* Say that there was no answer: a CURLcode. An exit code. */
int http__unreachable(struct online *o, int code);

#endif
