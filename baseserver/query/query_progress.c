/* How far jobs say they are. */
#include <stdio.h>
#include <string.h>

#include "baseserver/query/query_impl.h"
#include "util/err.h"
#include "util/json_put.h"

enum { IDS_MAX = 500, ID_BYTES_MAX = 64 };

static void progress_print(const char *id, uint32_t permille, struct buf *out)
{
	put_open(out, NULL, '{');
	put_text(out, "id", id);
	put_int(out, "permille", permille);
	put_close(out, '}');
}

/* Those named, "17.1772323200,18.1772323200": what says nothing, or does not run, is left out. */
static int print_named(struct query *q, const char *ids, struct refusal *f)
{
	size_t n = 0;

	for (const char *p = ids; *p;) {
		char id[ID_BYTES_MAX];
		size_t len = strcspn(p, ",");
		struct inst_key key;

		snprintf(id, sizeof id, "%.*s", (int)(len < sizeof id ? len : 0), p);
		if (!selection_id(id, &key))
			return refuse(f, E_INVALID, "args.ids",
			              "for example TASKID.RUNDATE,TASKID.RUNDATE",
			              "args.ids: '%.*s' is no instance's id",
			              (int)(len < 60 ? len : 60), p);
		if (++n > IDS_MAX)
			return refuse(f, E_INVALID, "args.ids", NULL,
			              "args.ids: at most %d at a time", IDS_MAX);
		const struct progress_item *i = progress_find(commander_progress_of(q->c), key);
		if (i && query__sees_task(q, key.task))
			progress_print(id, i->permille, &q->out);
		p += len + (p[len] == ',');
	}
	return 0;
}

int query__progress(struct query *q, const struct jval *args, struct refusal *f)
{
	static const char *const keys[] = { "ids", NULL };
	const char *ids = NULL;
	int r = arg_object(args, "args", keys, f);

	if (r == 0)
		r = arg_text(args, "args", "ids", (size_t)IDS_MAX * ID_BYTES_MAX, &ids, f);
	if (r < 0)
		return r;
	if (!ids)
		return refuse(f, E_INVALID, "args.ids",
		              "for example \"17.1772323200,18.1772323200\"",
		              "args.ids: is missing");
	put_open(&q->out, NULL, '{');
	put_open(&q->out, "items", '[');
	r = print_named(q, ids, f);
	put_close(&q->out, ']');
	put_close(&q->out, '}');
	return r;
}
