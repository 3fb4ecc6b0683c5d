/* Projects: which are trusted, and an administrator's word on it. The server knows and keeps it. */
#include <cjson/cJSON.h>

#include "cgi/handlers/handle_docs.h"
#include "cgi/handlers/route.h"
#include "cgi/http/call.h"

int projects_get(struct call *c)
{
	static const char *const none[] = { NULL };

	return call_args_only(c, none) < 0 ? c->err.code : call_query(c, "projects", "{}");
}

static int project_mark(struct call *c, const char *kind)
{
	static const char *const keys[] = { "message", NULL };

	if (call_members_only(c, keys) < 0)
		return c->err.code;
	cJSON *args = cJSON_Duplicate(c->json, true);
	cJSON_AddStringToObject(args, "project", c->params[0]);
	int r = doc_command(c, kind, args);
	cJSON_Delete(args);
	return r;
}

int project_trust(struct call *c)
{
	return project_mark(c, "project-trust");
}

int project_untrust(struct call *c)
{
	return project_mark(c, "project-untrust");
}
