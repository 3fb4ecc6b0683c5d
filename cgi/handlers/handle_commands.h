/* handle_commands.h — commands that other handlers give: the same roles, rights, projects. */
#ifndef CGI_HANDLE_COMMANDS_H
#define CGI_HANDLE_COMMANDS_H

struct call;
struct cJSON;

/* Wait for the answer of a command of a kind that there is, as the call's actor; then c->then.
 * E_FORBIDDEN */
int command_ask(struct call *c, const char *kind, const struct cJSON *args);
/* Arguments of a command of this kind as they are sent: kept within the projects where the call may
 * give it. Heap. */
char *command_args(struct call *c, const char *kind, const struct cJSON *args);

#endif
