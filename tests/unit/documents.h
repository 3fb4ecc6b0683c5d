/* Shared by the tests of documents: a set, what exists beside it, the first complaint. */
#ifndef TESTS_UNIT_DOCUMENTS_H
#define TESTS_UNIT_DOCUMENTS_H

#include "rt/zones.h"
#include "sched/task.h"
#include "sched/tz.h"
#include "sched/workflow.h"
#include "util/buf.h"
#include "util/diag.h"
#include "util/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FROM INT64_C(1767225600) /* 2026-01-01 */

static struct diags d;
static struct workflow_set *set;
static struct task **tasks;
static size_t n_tasks;
static struct task **others; /* compiled before: what exists */
static size_t n_others;
static int64_t anchors[8];
static size_t n_anchors;

static inline int zone(void *ctx, const char *name, const struct tz **ret_tz, struct err *err)
{
	(void)ctx;
	return zones_get(name, ret_tz, err);
}

static struct workflow_world world;

static inline void drop(struct task **all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		task_unref(all[i]);
	free(all);
}

static inline void again(void)
{
	drop(tasks, n_tasks);
	workflow_set_free(set);
	diags_done(&d);
	diags_init(&d);
	set = workflow_set_new();
	tasks = NULL;
	n_tasks = 0;
}

static inline int setup(void **state)
{
	(void)state;
	diags_init(&d);
	set = workflow_set_new();
	tasks = others = NULL;
	n_tasks = n_others = n_anchors = 0;
	world = (struct workflow_world){ .zone = zone, .start = FROM };
	return 0;
}

static inline int teardown(void **state)
{
	again();
	(void)state;
	workflow_set_free(set);
	diags_done(&d);
	drop(others, n_others);
	return 0;
}

static inline int try(const char *text)
{
	int r = workflow_set_read(set, text, strlen(text), "f.yaml", &d);

	return r < 0 ? r : workflow_compile(set, &world, &d, &tasks, &n_tasks);
}

static inline void good(const char *text)
{
	if (try(text) < 0)
		fail_msg("%d:%d %s", d.items[0].at.line, d.items[0].at.column, d.items[0].message);
}

/* The first complaint. */
static inline void bad(const char *text, int line, int column, const char *code,
                       const char *message)
{
	again();
	assert_int_equal(try(text), E_INVALID);
	const struct diag *first = &d.items[0];
	if (first->at.line != line || first->at.column != column ||
	    strcmp(first->code, code) != 0 || !strstr(first->message, message))
		fail_msg("%s\n%d:%d %s %s", text, first->at.line, first->at.column, first->code,
		         first->message);
}

static inline const struct task *task(const char *name)
{
	for (size_t i = 0; i < n_tasks; i++)
		if (strcmp(tasks[i]->name, name) == 0)
			return tasks[i];
	fail_msg("no task %s", name);
	return NULL;
}

static inline const struct task *find_outside(void *ctx, const char *name)
{
	(void)ctx;
	for (size_t i = 0; i < n_others; i++)
		if (strcmp(others[i]->name, name) == 0)
			return others[i];
	return NULL;
}

static inline const struct task *find_by_id(void *ctx, uint32_t id)
{
	(void)ctx;
	for (size_t i = 0; i < n_others; i++)
		if (others[i]->id == id)
			return others[i];
	return NULL;
}

/* Compile what will be outside from now on; its ids begin at 1, those of the set at 1000. */
static inline void number_from_1000(void *ctx, const char *name, struct workflow_start *start)
{
	uint32_t h = 0;

	(void)ctx;
	for (const char *p = name; *p; p++)
		h = h * 31 + (unsigned char)*p;
	start->id = 1000 + h % 100000000;
	if (n_anchors)
		start->anchor = anchors[name[strlen(name) - 1] % 8];
}

static inline void exists(const char *text)
{
	good(text);
	others = tasks;
	n_others = n_tasks;
	tasks = NULL;
	n_tasks = 0;
	again();
	world.task = find_outside;
	world.known = number_from_1000;
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
