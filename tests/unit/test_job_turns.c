/* baseserver/model/job: projects take turns in a frame of jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "baseserver/model/job.h"

enum { JOBS = 64 };

/* Tasks by their first letter, one job each, in that order; -> the order in which they leave. */
static void leave(const char *came, char *ret_left)
{
	static char names[JOBS][16];
	static Sirdar__Job jobs[JOBS];
	Sirdar__Job *list[JOBS];
	size_t n = 0;

	for (; came[n]; n++) {
		sirdar__job__init(&jobs[n]);
		names[n][0] = came[n];
		names[n][1] = '/';
		jobs[n].task_name = names[n];
		jobs[n].token = n;
		list[n] = &jobs[n];
	}
	jobs_take_turns(list, n);
	for (size_t i = 0; i < n; i++) {
		ret_left[i] = list[i]->task_name[0];
		for (size_t k = 0; k < i; k++) /* each keeps its own order */
			if (list[k]->task_name[0] == ret_left[i])
				assert_true(list[k]->token < list[i]->token);
	}
	ret_left[n] = 0;
}

static void the_few_jobs_of_a_project_leave_between_the_many_of_another(void **state)
{
	static const char *const cases[][2] = {
		{ "", "" },
		{ "a", "a" },
		{ "aaaa", "aaaa" },
		{ "aaaab", "abaaa" },
		{ "aaaabb", "ababaa" },
		{ "baaaa", "baaaa" },
		{ "aaabbbc", "abcabab" },
	};
	char left[JOBS + 1];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		leave(cases[i][0], left);
		assert_string_equal(left, cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_few_jobs_of_a_project_leave_between_the_many_of_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
