/* place.h — where something is wrong, in the words of the command line. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include <cjson/cJSON.h>

struct cli;

/* A place of the server's ("args.selection.dates.0") as the person said it; `body`: what was sent,
 * or NULL. Owned. */
char *place_said(const struct cli *cli, const cJSON *body, const char *place);
/* The server's message with its place so. Owned. */
char *place_message(const struct cli *cli, const cJSON *body, const char *place,
                    const char *message);

#endif
