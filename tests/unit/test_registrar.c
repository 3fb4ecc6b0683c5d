/* baseserver/sort/registrar: which of gates 9 to 11 is closed, told from what brokers report. */
#include "baseserver/forecast/forecast.h"
#include "baseserver/ledger/ledger.h"
#include "baseserver/model/why.h"
#include "baseserver/sort/registrar.h"
#include "tests/unit/sorting.h"
#include "util/buf.h"
#include "util/err.h"

struct place {
	struct fixture f;
	struct registrar *registrar;
};

static void start(struct place *p)
{
	begin(&p->f);
	assert_int_equal(registrar_new(p->f.th, p->f.ledger, p->f.store, &p->registrar, NULL), 0);
	thread_sim_run(p->f.th);
}

static void stop(struct place *p)
{
	thread_stop(p->f.th);
	registrar_free(p->registrar);
	sorter_free(p->f.sorter);
	ledger_free(p->f.ledger);
	thread_free(p->f.th);
	store_close(p->f.store);
}

static void on_greeted(struct letter *l, void *self)
{
	(void)self;
	assert_int_equal(((struct greeting *)l)->code, 0);
	free(l);
}

/* The broker's own session, or with a type its loader's. */
static void greet(struct place *p, const char *name, const char *group, const char *type)
{
	struct greeting *g = mem_new(sizeof *g);
	static uint32_t session;

	g->reply_to = p->f.me;
	g->answered = on_greeted;
	g->session = ++session;
	g->role = type ? 2 : 1;
	snprintf(g->name, sizeof g->name, "%s", name);
	snprintf(g->type, sizeof g->type, "%s", type ? type : "");
	snprintf(g->groups[0], sizeof g->groups[0], "%s", group);
	g->n_groups = 1;
	assert_int_equal(registrar_greet(p->registrar, g), 0);
	thread_sim_run(p->f.th);
}

static struct broker_news *news(struct place *p, const char *name)
{
	struct broker_news *n = mem_new(sizeof *n);

	assert_true(registrar_find(p->registrar, name, &n->broker));
	return n;
}

static void report(struct place *p, struct broker_news *n)
{
	assert_int_equal(registrar_report(p->registrar, n), 0);
	thread_sim_run(p->f.th);
}

static void says(struct place *p, const struct task *t, enum why_code from, const char *line)
{
	struct why_line w;
	struct buf out;

	why_set(&w, from);
	why_text(&w, "type", "%s", t->type);
	registrar_explain(p->registrar, t, &w);
	buf_init(&out);
	why_print_line(&w, &out);
	assert_string_equal(buf_str(&out), line);
	buf_done(&out);
}

static void it_names_the_broker_and_what_is_wrong_with_it(void **state)
{
	struct task any = { .type = "sql", .group = "" }, etl = { .type = "sql", .group = "etl" };
	const char *const machines[] = { "b2" };
	struct task b2 = { .type = "sql", .group = "", .machines = machines, .n_machines = 1 };
	struct broker_news *n;
	struct place p;

	(void)state;
	start(&p);
	says(&p, &any, WHY_NO_BROKER, "no broker has a runner for task type sql");
	greet(&p, "b1", "dw", NULL);
	greet(&p, "b1", "dw", "sql");
	says(&p, &any, WHY_SLOTS, "all slots for task type sql are taken");
	says(&p, &etl, WHY_NO_BROKER, "no broker of group etl has task type sql online");
	says(&p, &b2, WHY_NO_BROKER, "no broker of its machines has task type sql online");
	n = news(&p, "b1");
	n->load = true;
	snprintf(n->why_not, sizeof n->why_not, "load is 500 %%");
	report(&p, n);
	says(&p, &any, WHY_SLOTS, "no broker of any group takes work now; b1: load is 500 %");
	n = news(&p, "b1");
	n->load = n->accepts = true;
	report(&p, n);
	registrar_drain(p.registrar, 1, true);
	thread_sim_run(p.f.th);
	says(&p, &any, WHY_SLOTS, "no broker of any group takes work now; b1: drained");
	registrar_drain(p.registrar, 1, false);
	thread_sim_run(p.f.th);
	n = news(&p, "b1");
	n->runner = true;
	n->runner_state = 4;
	snprintf(n->type, sizeof n->type, "sql");
	snprintf(n->text, sizeof n->text, "3 crashes");
	report(&p, n);
	says(&p, &any, WHY_NO_BROKER,
	     "the runner of task type sql is quarantined on b1: 3 crashes");
	stop(&p);
}

static void one_that_has_gone_is_named_with_when_it_was_heard(void **state)
{
	struct task any = { .type = "sql", .group = "" };
	struct broker_news *n;
	struct place p;

	(void)state;
	start(&p);
	greet(&p, "b1", "dw", NULL);
	greet(&p, "b1", "dw", "sql");
	for (uint32_t s = 1; s < 20; s++) {
		n = news(&p, "b1");
		n->session = s;
		n->gone = true;
		report(&p, n);
	}
	says(&p, &any, WHY_NO_BROKER,
	     "no broker of any group with task type sql is online; b1 was last heard "
	     "1970-01-01T01:00:00Z");
	says(&p, &any, WHY_TURN, "its turn comes by priority,  wait for the same slots");
	stop(&p);
}

static int answer;
static struct holder holder;
static uint32_t evicted;

static void on_answer(struct letter *l, void *self)
{
	const struct greeting *g = (struct greeting *)l;

	(void)self;
	answer = g->code;
	holder = g->holder;
	free(l);
}

static void on_evict(struct letter *l, void *self)
{
	(void)self;
	evicted = ((struct evict *)l)->session;
	free(l);
}

static int greets_booted(struct place *p, uint32_t session, const char *type, const char *machine,
                         const char *former, const char *boot)
{
	struct greeting *g = mem_new(sizeof *g);

	g->reply_to = p->f.me;
	g->answered = on_answer;
	g->evict = on_evict;
	g->session = session;
	g->role = type ? 2 : 1;
	snprintf(g->name, sizeof g->name, "b1");
	snprintf(g->type, sizeof g->type, "%s", type ? type : "");
	snprintf(g->machine, sizeof g->machine, "%s", machine);
	snprintf(g->former, sizeof g->former, "%s", former);
	snprintf(g->boot_id, sizeof g->boot_id, "%s", boot);
	assert_int_equal(registrar_greet(p->registrar, g), 0);
	thread_sim_run(p->f.th);
	return answer;
}

static int greets(struct place *p, uint32_t session, const char *type, const char *machine,
                  const char *boot)
{
	return greets_booted(p, session, type, machine, "", boot);
}

static void lives(struct place *p, uint32_t session)
{
	struct broker_news *n = news(p, "b1");

	n->session = session;
	report(p, n);
}

static bool has_twin(struct place *p)
{
	struct buf out;

	buf_init(&out);
	registrar_print(p->registrar, &out);
	bool has = strstr(buf_str(&out), "another machine") != NULL;
	buf_done(&out);
	return has;
}

static void begin_beating(struct place *p)
{
	start(p);
	registrar_set_beat(p->registrar, US_PER_S);
	evicted = 0;
}

static void a_second_machine_is_refused_until_the_first_falls_silent(void **state)
{
	struct place p;

	(void)state;
	begin_beating(&p);
	assert_int_equal(greets(&p, 1, NULL, "m1", "boot"), 0);
	assert_int_equal(greets(&p, 2, "t", "m1", "boot"), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(greets(&p, 10, NULL, "m2", "boot"), E_IDENTITY);
		assert_int_equal(greets(&p, 11, "t", "m2", "boot"), E_IDENTITY);
		now_us += US_PER_S;
		lives(&p, 2); /* one of its sessions is enough */
	}
	assert_true(has_twin(&p));
	assert_int_equal(evicted, 0);
	assert_int_equal(greets(&p, 10, NULL, "m2", "boot"), E_IDENTITY);
	now_us += 2 * US_PER_S - 1;
	assert_int_equal(greets(&p, 10, NULL, "m2", "boot"), E_IDENTITY);
	now_us += 1;
	assert_int_equal(greets(&p, 10, "t", "m2", "boot"), 0);
	assert_int_equal(evicted, 2);
	assert_int_equal(greets(&p, 11, NULL, "m2", "boot"), 0);
	assert_false(has_twin(&p));
	assert_int_equal(greets(&p, 12, NULL, "m1", "boot"), E_IDENTITY);
	stop(&p);
}

static void a_machine_is_taken_again_at_once_an_earlier_version_by_its_boot(void **state)
{
	struct place p;

	(void)state;
	begin_beating(&p);
	assert_int_equal(greets(&p, 1, NULL, "", "boot"), 0);
	assert_int_equal(greets(&p, 2, "t", "", "other boot"), E_IDENTITY);
	assert_int_equal(greets(&p, 3, NULL, "m1", "boot"), 0); /* brought up to date */
	assert_int_equal(greets(&p, 4, "t", "", "boot"), 0);    /* its old loader */
	assert_int_equal(greets(&p, 5, "t", "m2", "boot"), E_IDENTITY);
	assert_int_equal(greets(&p, 6, NULL, "m1", "boot"), 0);
	assert_int_equal(evicted, 0);
	stop(&p);
}

/* Greets until it is let in: the one before it says nothing any more. */
static struct holder taken(struct place *p, const char *machine, const char *former)
{
	greets_booted(p, 20, NULL, machine, former, "boot");
	now_us += 2 * US_PER_S;
	assert_int_equal(greets_booted(p, 21, NULL, machine, former, "boot"), 0);
	return holder;
}

static void a_name_stays_its_machines_when_the_server_starts_again(void **state)
{
	struct registrar *next = NULL;
	struct place p;

	(void)state;
	begin_beating(&p);
	taken(&p, "m0", "");
	struct holder was_holder = taken(&p, "m1", "");
	struct thread *th = thread_new("next", &test_clock);
	assert_int_equal(registrar_new(th, p.f.ledger, p.f.store, &next, NULL), 0);
	struct registrar *was = p.registrar;
	assert_int_equal(thread_sim_start(th, NULL), 0);
	struct greeting *g = mem_new(sizeof *g);
	g->reply_to = p.f.me;
	g->answered = on_answer;
	snprintf(g->name, sizeof g->name, "b1");
	snprintf(g->machine, sizeof g->machine, "m2");
	g->role = 1;
	assert_int_equal(registrar_greet(next, g), 0);
	thread_sim_run(th);
	thread_sim_run(p.f.th);
	assert_int_equal(answer, E_IDENTITY);
	g = mem_new(sizeof *g);
	g->reply_to = p.f.me;
	g->answered = on_answer;
	snprintf(g->name, sizeof g->name, "b1");
	snprintf(g->machine, sizeof g->machine, "m1");
	g->role = 1;
	assert_int_equal(registrar_greet(next, g), 0);
	thread_sim_run(th);
	thread_sim_run(p.f.th);
	assert_int_equal(answer, 0);
	assert_memory_equal(&holder, &was_holder, sizeof holder);
	p.registrar = was;
	thread_stop(th);
	registrar_free(next);
	thread_free(th);
	stop(&p);
}

static bool has(const struct holder *of, const struct holder *granted_to, uint64_t token)
{
	return holder_has(of, granted_to->machine, granted_to->broker, token);
}

static void what_was_granted_to_the_former_machine_is_not_the_next_ones(void **state)
{
	struct place p;

	(void)state;
	begin_beating(&p);
	uint64_t token = ledger_next_token(p.f.ledger);
	struct holder first = taken(&p, "m1", ""), unknown = { 0, 0, first.broker };
	assert_int_equal(greets(&p, 22, "t", "m1", "boot"), 0); /* its loader, begun again */
	assert_true(has(&holder, &first, token) && has(&holder, &unknown, token));
	struct holder second = taken(&p, "m2", "");
	assert_false(has(&second, &first, token));
	assert_true(second.since == ledger_next_token(p.f.ledger));
	assert_false(has(&second, &unknown, second.since - 1)); /* of a former server's time */
	assert_true(has(&second, &unknown, second.since));
	struct holder again = taken(&p, "m1", ""); /* the former one is back */
	assert_true(has(&again, &first, token));
	assert_false(has(&again, &second, second.since));
	stop(&p);
}

static void a_machine_that_was_booted_has_what_it_had(void **state)
{
	struct place p;

	(void)state;
	begin_beating(&p);
	struct holder first = taken(&p, "m1", ""), booted = taken(&p, "m2", "m1");
	assert_true(booted.machine == first.machine && booted.since == first.since);
	booted = taken(&p, "m3", "m2");
	assert_true(booted.machine == first.machine && booted.since == first.since);
	struct holder clone = taken(&p, "m4", ""), late = taken(&p, "m5", "m3");
	assert_true(clone.machine != first.machine);
	assert_true(late.machine != first.machine); /* booted while another had its name */
	stop(&p);
}

/* Between the end of a job and its loader's next credit a seat is full, but not for good. */
static void a_forecast_counts_on_credit_that_is_given_anew(void **state)
{
	struct place p;
	uint32_t places[] = { 0 };
	char type[] = "sql";
	struct forecast_seat seat = { .type = type, .accepts = true, .is_asked = true };
	struct forecast_class klass = { .seats = { places, 1 } };
	struct task task = { .type = "sql", .group = "" };
	struct forecast_task played = { .def = &task };
	struct forecast f = { .tasks = &played,
		              .n_tasks = 1,
		              .seats = &seat,
		              .n_seats = 1,
		              .classes = &klass,
		              .n_classes = 1 };

	(void)state;
	start(&p);
	greet(&p, "b1", "dw", NULL);
	greet(&p, "b1", "dw", "sql");
	assert_true(registrar_find(p.registrar, "b1", &seat.broker));
	registrar_forecast(p.registrar, &f);
	assert_int_equal(seat.slots, 1);
	seat.slots = 0;
	seat.is_asked = false; /* starts fail there */
	registrar_forecast(p.registrar, &f);
	assert_int_equal(seat.slots, 0);
	stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_names_the_broker_and_what_is_wrong_with_it),
		cmocka_unit_test(one_that_has_gone_is_named_with_when_it_was_heard),
		cmocka_unit_test(a_second_machine_is_refused_until_the_first_falls_silent),
		cmocka_unit_test(a_machine_is_taken_again_at_once_an_earlier_version_by_its_boot),
		cmocka_unit_test(a_name_stays_its_machines_when_the_server_starts_again),
		cmocka_unit_test(what_was_granted_to_the_former_machine_is_not_the_next_ones),
		cmocka_unit_test(a_machine_that_was_booted_has_what_it_had),
		cmocka_unit_test(a_forecast_counts_on_credit_that_is_given_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
