/* YAML and JSON: what is read prints, and reads back as the same, in both spellings. */
#include <stdlib.h>

#include "util/buf.h"
#include "util/check.h"
#include "util/diag.h"
#include "util/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void drop(struct yaml_doc **docs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		yaml_free(docs[i]);
	free(docs);
}

static void prints_and_reads_back(const struct yaml_node *root, struct diags *d)
{
	struct buf text;
	struct yaml_doc **again;
	size_t n;

	buf_init(&text);
	yaml_print(root, 0, &text);
	CHECK(yaml_read(buf_str(&text), text.len, "again", d, &again, &n) == 0);
	CHECK(n == 1 && yaml_same(root, yaml_root(again[0])));
	drop(again, n);
	buf_clear(&text);
	yaml_print_json(root, &text);
	if (root->kind != YAML_SCALAR) {
		/* libyaml takes keys of up to 1024 characters in a flow, as JSON is to it */
		if (yaml_read(buf_str(&text), text.len, "json", d, &again, &n) == 0)
			drop(again, n);
	}
	buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct yaml_doc **docs;
	struct diags d;
	size_t n;

	diags_init(&d);
	if (yaml_read((const char *)data, bytes, "fuzz", &d, &docs, &n) == 0) {
		for (size_t i = 0; i < n; i++)
			prints_and_reads_back(yaml_root(docs[i]), &d);
		drop(docs, n);
	} else {
		CHECK(d.errors > 0);
	}
	diags_done(&d);
	return 0;
}
