/* sched/workflow: names that parameters use: of projects and of all, pools, outputs of parents. */
#include "tests/unit/documents.h"

/* --- parameters of a project and of all */

static const char scopes[] =
	"global: {region: eu, both: \"${region}-1\"}\n---\n"
	"project: shop\nparameters: {db: dw, where: \"${db}.${region}\"}\n---\n";

static void names_of_project_and_all_are_known(void **state)
{
	char text[600];

	(void)state;
	snprintf(text, sizeof text,
	         "%sworkflow: w\nproject: shop\ntasks:\n  a: {type: t, cycle: day, params: {s: "
	         "\"${db} ${region} ${biz_date}\"}}\n",
	         scopes);
	good(text);
	assert_true(tasks[0]->asks); /* their values are asked for at a grant */
	assert_int_equal(workflow_set_scopes(set), 2);
	const struct workflow_scope *all = workflow_set_scope(set, 0),
				    *own = workflow_set_scope(set, 1);
	assert_string_equal(workflow_scope_project(all), "");
	assert_string_equal(workflow_scope_project(own), "shop");
	assert_int_equal(workflow_scope_count(own), 2);
	assert_string_equal(workflow_scope_name_at(own, 1), "where");
	assert_string_equal(workflow_scope_value(own, "where"), "${db}.${region}");
	assert_null(workflow_scope_value(own, "region"));
	assert_true(workflow_scope_same(own, own));
	assert_false(workflow_scope_same(own, all));
	assert_non_null(workflow_scope_node(own));

	/* what is printed reads back as the same */
	struct buf out;
	struct workflow_set *copy = workflow_set_new();
	buf_init(&out);
	workflow_scope_print(own, &out);
	assert_int_equal(workflow_set_read(copy, buf_str(&out), out.len, "g.yaml", &d), 0);
	assert_true(workflow_scope_same(own, workflow_set_scope(copy, 0)));
	buf_done(&out);
	workflow_set_free(copy);
}

static void names_of_another_project_are_not(void **state)
{
	char text[600];

	(void)state;
	snprintf(text, sizeof text,
	         "%sworkflow: w\nproject: crm\nparameters: {dc: x}\ntasks:\n"
	         "  a: {type: t, cycle: day, outputs: [dbs], params: {x: y}}\n"
	         "  b: {type: t, cycle: day, needs: [a], params: {s: \"${db}\"}}\n",
	         scopes);
	bad(text, 11, 52, "macro", "db");
	snprintf(text, sizeof text,
	         "%sworkflow: w\nproject: shop\ntasks:\n"
	         "  b: {type: t, cycle: day, params: {s: \"${regio}\"}}\n",
	         scopes);
	bad(text, 9, 40, "macro", "region"); /* the nearest of all that is known */
	bad("project: shop\nparameters: {db: \"${dw}\"}\n", 2, 18, "macro", "dw");
	assert_string_equal(d.items[0].at.path, "parameters.db");
	bad("global: {db: \"${dw}\"}\n", 1, 14, "macro", "dw");
	assert_string_equal(d.items[0].at.path, "global.db");
	assert_non_null(strstr(d.items[0].hint, "$${NAME}"));
	bad("global: {db: \"$[nope(1)]\"}\n", 1, 14, "macro", "");
	assert_string_equal(d.items[0].hint ? d.items[0].hint : "", "");
}

static void good_scope(const char *text, int32_t running, const char *want)
{
	struct workflow_set *one = workflow_set_new();
	struct buf out;

	buf_init(&out);
	assert_int_equal(workflow_set_read(one, text, strlen(text), "f", &d), 0);
	const struct workflow_scope *s = workflow_set_scope(one, 0);
	workflow_scope_print_with(s, workflow_scope_project(s), running, NULL, &out);
	assert_string_equal(buf_str(&out), want);
	buf_done(&out);
	workflow_set_free(one);
}

static void a_pool_is_a_document_of_its_own(void **state)
{
	struct buf out;

	(void)state;
	good("pool: dw\nslots: 3\n---\nproject: p\nquota: {running: 7}\n---\nproject: "
	     "q\ndescription: all "
	     "of it\nparameters: {a: b}\n");
	const struct workflow_scope *pool = workflow_set_scope(set, 0),
				    *p = workflow_set_scope(set, 1),
				    *q = workflow_set_scope(set, 2);
	assert_string_equal(workflow_scope_pool(pool), "dw");
	assert_int_equal(workflow_scope_slots(pool), 3);
	assert_null(workflow_scope_pool(p));
	assert_int_equal(workflow_scope_slots(p), 7);
	assert_int_equal(workflow_scope_slots(q), 0);
	buf_init(&out);
	workflow_scope_print_with(q, "q", 5, NULL, &out);
	struct workflow_set *copy = workflow_set_new();
	assert_int_equal(workflow_set_read(copy, buf_str(&out), out.len, "g.yaml", &d), 0);
	assert_int_equal(workflow_scope_slots(workflow_set_scope(copy, 0)), 5);
	assert_string_equal(workflow_scope_value(workflow_set_scope(copy, 0), "a"), "b");
	workflow_set_free(copy);
	buf_clear(&out);
	workflow_scope_print_with(p, "p", 0, NULL, &out);
	assert_string_equal(buf_str(&out), "project: p\nparameters: {}\n");
	buf_clear(&out);
	good_scope("project: s\nparameters: {}\n", 9,
	           "project: s\nquota: {running: 9}\nparameters: {}\n");
	good_scope("project: t\nalerts: [{when: [failed], to: [\"oncall:d\"]}]\n", 9,
	           "project: t\nquota: {running: 9}\nalerts:\n  - when:\n      - failed\n    "
	           "to:\n      - oncall:d\n");
	workflow_scope_print_with(NULL, "r", 9, NULL, &out);
	assert_string_equal(buf_str(&out), "project: r\nquota: {running: 9}\n");
	buf_done(&out);
	bad("pool: dw\n", 1, 1, "missing_key", "how many `slots`");
	bad("pool: dw\nslots: 1\n---\npool: dw\nslots: 2\n", 4, 1, "duplicate_name",
	    "the document of pool:dw stands a second time");
}

static void parameters_stand_in_one_document(void **state)
{
	(void)state;
	bad("global: {a: b}\n---\nglobal: {c: d}\n", 3, 1, "duplicate_name",
	    "of all projects stands a second time; first in f.yaml, line 1");
	bad("project: p\nparameters: {a: b}\n---\nproject: p\nparameters: {c: d}\n", 4, 1,
	    "duplicate_name", "of project p stands a second time");
	bad("project: p\n", 1, 1, "missing_key",
	    "a document of a project needs a `title`, `parameters`, a `quota` or `alerts`");
	/* nothing of a text with an error is added */
	assert_int_equal(workflow_set_scopes(set), 0);
	bad("project: p\nparameters: {a: b}\n---\nproject: q\nparameter: {c: d}\n", 5, 1,
	    "unknown_key", "parameter");
	assert_int_equal(workflow_set_scopes(set), 0);
}

static bool has_parameter(void *ctx, const char *project, const char *name)
{
	(void)ctx;
	return strcmp(name, "kept") == 0 ||
	       (strcmp(name, "server.dw.host") == 0 && strcmp(project, "default") == 0);
}

static void the_server_may_know_more_names(void **state)
{
	(void)state;
	world.parameter = has_parameter;
	good("workflow: w\ntasks:\n  a: {type: t, cycle: day, params: {s: \"${kept} "
	     "${server.dw.host}\"}}\n---\nglobal: {x: \"${kept}\"}\n");
	bad("workflow: w\ntasks:\n  a: {type: t, cycle: day, params: {s: \"${server.x.host}\"}}\n",
	    3, 40, "macro", "server.x.host");
	assert_non_null(strstr(d.items[0].hint, "no target server"));
	bad("workflow: w\ntasks:\n  a: {type: t, cycle: day, params: {s: \"${keep}\"}}\n", 3, 40,
	    "macro", "keep");
	bad("global: {x: \"${server.y.host}\"}\n", 1, 13, "macro", "server.y.host");
}

/* --- outputs of parents */

static void outputs_come_from_parents_in_the_set_and_outside(void **state)
{
	(void)state;
	exists("workflow: far\nproject: p\ntasks:\n  f: {type: t, cycle: day, outputs: [rows, "
	       "size]}\n"
	       "  none: {type: t, cycle: day}\n");
	good("workflow: w\nproject: p\ntasks:\n  a: {type: t, cycle: day, outputs: [rows]}\n"
	     "  ab: {type: t, cycle: day, outputs: [name]}\n"
	     "  b: {type: t, cycle: day, needs: [ab, far/none, far/f, a], params: {s: \"${f.size} "
	     "${size} ${f.size} ${name} ${a.rows} ${ab.name}\"}}\n"
	     "  c: {type: t, cycle: day, needs: [a, {task: a, depend: -1}], params: {s: "
	     "\"${rows}\"}}\n");
	const struct task *b = task("p/w/b"), *c = task("p/w/c");
	assert_int_equal(b->n_inputs, 5);
	assert_string_equal(b->inputs[0].name, "f.size");
	assert_string_equal(b->inputs[0].key, "size");
	assert_int_equal(b->inputs[0].link, 2);
	assert_int_equal(c->inputs[0].link, 0); /* of the first need on that task */

	bad("workflow: w\nproject: p\ntasks:\n  a: {type: t, cycle: day, outputs: [rows]}\n"
	    "  b: {type: t, cycle: day, needs: [far/f, a], params: {s: \"${rows}\"}}\n",
	    5, 59, "macro", "rows");
	assert_string_equal(d.items[0].hint, "say which: ${f.rows} or ${a.rows}");
	bad("workflow: w\nproject: p\ntasks:\n"
	    "  b: {type: t, cycle: day, needs: [far/f], params: {s: \"${f.row}\"}}\n",
	    4, 56, "macro", "f.row");
	assert_non_null(strstr(d.items[0].hint, "f declares no output 'row'"));
	assert_non_null(strstr(d.items[0].message, "f.rows"));
	bad("workflow: w\nproject: p\ntasks:\n"
	    "  b: {type: t, cycle: day, needs: [far/f], params: {s: \"${colums}\"}}\n",
	    4, 56, "macro", "colums");
}

static void a_task_takes_as_many_outputs_as_it_likes(void **state)
{
	struct buf text;

	(void)state;
	buf_init(&text);
	buf_puts(&text, "workflow: w\nparameters: {x: {y: 1}, z: \"${o1}\"}\ntasks:\n"
	                "  a: {type: t, cycle: day, outputs: [o0");
	for (int i = 1; i < 20; i++)
		buf_printf(&text, ", o%d", i);
	buf_puts(&text, "]}\n  b: {type: t, cycle: day, needs: [a], params: {s: \"");
	for (int i = 0; i < 20; i++)
		buf_printf(&text, "${a.o%d} ", i);
	buf_puts(&text, "\"}}\n");
	assert_int_equal(try(buf_str(&text)), E_INVALID); /* z asks what task a cannot give */
	again();
	const char *z = strstr(buf_str(&text), ", z: \"${o1}\"");
	char *whole = strdup(buf_str(&text));
	size_t at = (size_t)(z - buf_str(&text));
	memmove(whole + at, whole + at + 12, strlen(whole + at + 12) + 1);
	good(whole);
	assert_int_equal(task("default/w/b")->n_inputs, 20);
	assert_string_equal(task("default/w/b")->inputs[19].name, "a.o19");
	free(whole);
	buf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(names_of_project_and_all_are_known),
		T(names_of_another_project_are_not),
		T(a_pool_is_a_document_of_its_own),
		T(parameters_stand_in_one_document),
		T(the_server_may_know_more_names),
		T(outputs_come_from_parents_in_the_set_and_outside),
		T(a_task_takes_as_many_outputs_as_it_likes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
