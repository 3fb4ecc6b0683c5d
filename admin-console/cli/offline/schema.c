/* sirdar schema: the JSON Schema of documents, or which kinds of them there are. */
#include "admin-console/cli/base/verb.h"

#include "admin-console/cli/documents/files.h"
#include "rt/manifests.h"
#include "sched/schema.h"
#include "util/alloc.h"
#include "util/beside.h"
#include "util/buf.h"
#include "util/json_put.h"
#include "util/near.h"
#include "util/screen.h"

#include <stdlib.h>

static int kinds_print(const struct cli *cli)
{
	struct buf out;

	buf_init(&out);
	if (cli->json)
		put_open(&out, NULL, '[');
	for (size_t i = 0; schema_kinds[i]; i++)
		if (cli->json)
			put_text(&out, NULL, schema_kinds[i]);
		else
			buf_printf(&out, "%s\n", schema_kinds[i]);
	if (cli->json)
		put_close(&out, ']');
	int code = cli_print(&out);
	buf_done(&out);
	return code;
}

static int no_kind(const char *kind)
{
	const char *near = near_name(kind, schema_kinds);

	return cli_fail(CLI_NOT_FOUND, "no kind of document '%s'%s%s; `sirdar schema` lists them",
	                kind, near ? ", is this meant: " : "", near ? near : "");
}

static int schema_answer(struct asked *q)
{
	const char *kind = word(q, 0), *said = given(q, "types");
	struct buf out;

	if (!kind)
		return kinds_print(q->cli);
	char *beside = said ? NULL : beside_program("types");
	struct manifests *manifests = manifests_new(said ? said : beside ? beside : "");
	buf_init(&out);
	const struct type_set *types = manifests_types(manifests);
	files_print_diags(manifests_wrong(manifests), stderr);
	screen_data(stdout);
	int code = schema_print(kind, types, &out) < 0 ? no_kind(kind) : cli_print(&out);
	buf_done(&out);
	manifests_free(manifests);
	free(beside);
	return code;
}

static const struct opt options[] = {
	{ "types", 'T', "DIR",
	  "params by the manifests of task types there (else by those installed with this program; "
	  "-T '': by none)" },
	{ 0 },
};

const struct verb verb_schema = { schema_answer, options, 0, 1 };
