/* A pipeline in both of its forms: ECTS's JSON, and its document. Pure.
 *
 * sched/ects.h does both ways; here the texts it looks at are opened: the library of ECTS's tasks,
 * and the pipeline as it was, whose own settings stay. A text that does not read counts as none.
 * */
#include "baseserver/lead/bridge.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "sched/ects.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"
#include "util/json_in.h"
#include "util/yaml.h"

enum { VALUE_BYTES_MAX = 1 << 20 };

/* A text of one document. */
struct text {
	struct yaml_doc **docs;
	size_t n;
};

/* The root, when it is a map that has the key. */
static const struct yaml_node *open_text(const char *text, size_t n, const char *key,
                                         struct text *t)
{
	struct diags d;

	*t = (struct text){ 0 };
	diags_init(&d);
	if (!text || yaml_read(text, n, "", &d, &t->docs, &t->n) < 0)
		t->n = 0;
	diags_done(&d);
	const struct yaml_node *root = t->n == 1 ? yaml_root(t->docs[0]) : NULL;
	return root && root->kind == YAML_MAP && yaml_get(root, key) ? root : NULL;
}

static void close_text(struct text *t)
{
	for (size_t i = 0; i < t->n; i++)
		yaml_free(t->docs[i]);
	free(t->docs);
}

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

int bridge_pipeline_document(const struct bridge_world *w, const char *name, const char *value,
                             size_t n, struct buf *ret_text, struct err *err)
{
	struct ects_world ects = { .project = w->project, .node = w->node, .ctx = w->ctx };
	struct cJSON *root = NULL;
	struct text library, was;
	int r = n > VALUE_BYTES_MAX
	                ? err_set(err, E_TOO_BIG, "%zu bytes, at most %d", n, VALUE_BYTES_MAX)
	                : json_parse(value, n, &root, err);
	const char *said = r == 0 && cJSON_IsObject(root) ? json_text(root, "name") : NULL;

	if (said && strcmp(said, name) != 0)
		r = err_set(err, E_INVALID, "name is '%.100s', the key's is '%.100s'", said, name);
	ects.library = open_text(w->library, length(w->library), "library", &library);
	ects.was = open_text(w->was, length(w->was), "pipeline", &was);
	if (r == 0)
		r = ects_pipeline_read(root, &ects, ret_text, err);
	close_text(&was);
	close_text(&library);
	json_free(root);
	return r;
}

bool bridge_pipeline_value(const struct bridge_world *w, const char *name, const char *text,
                           size_t n, struct buf *out)
{
	struct text t;
	const struct yaml_node *root = open_text(text, n, "pipeline", &t);

	(void)name;
	if (root)
		ects_pipeline_print(root, w->project, "", "", out);
	close_text(&t);
	return root != NULL;
}
