/* Which of the brokers that could run a task is why none does.
 *
 * All brokers in reach (group, machines, type) are looked at once, and the first of each kind is
 * kept: takes no work (drained, or by its own word), sick there, not let in, gone. The line names
 * the first of these kinds, in this order, that there is. registrar_forecast() asks the same for a
 * play: load and credit come back by themselves, a drain or a sick runner does not. */
#include <stdio.h>
#include <string.h>

#include "baseserver/forecast/forecast.h"
#include "baseserver/model/why.h"
#include "baseserver/sort/registrar_impl.h"
#include "sched/civil.h"
#include "sched/instance.h"
#include "sched/task.h"
#include "sched/when.h"
#include "util/check.h"
#include "util/clock.h"

static bool in_reach(const struct broker *b, const struct task *def)
{
	for (size_t i = 0; i < def->n_machines; i++)
		if (strcmp(def->machines[i], b->name) == 0)
			return true;
	if (def->n_machines)
		return false;
	for (size_t i = 0; i < b->n_groups && def->group[0]; i++)
		if (strcmp(b->groups[i], def->group) == 0)
			return true;
	return def->group[0] == 0;
}

static const struct runner *runner_of(const struct broker *b, const char *type)
{
	for (size_t i = 0; i < b->n_runners; i++)
		if (b->runners[i].state != RUNNER_DRAINING && strcmp(b->runners[i].type, type) == 0)
			return &b->runners[i];
	return NULL;
}

/* What is in reach of a task, and the first of each kind. */
struct reach {
	bool known;                 /* some broker anywhere has the type */
	const struct broker *works; /* online, healthy, takes work */
	const struct broker *sick, *gone, *not, *barred;
};

/* Why it, or with it that loader, is not let in; "": for no such reason. */
static const char *barred_of(const struct broker *b, const struct runner *run)
{
	return b->session ? run->barred : b->barred;
}

static void explain_look(struct reach *re, const struct broker *b, const struct task *def)
{
	const struct runner *run = runner_of(b, def->type);

	re->known = re->known || run;
	if (!run || !in_reach(b, def))
		return;
	if (!run->session && barred_of(b, run)[0])
		re->barred = re->barred ? re->barred : b;
	else if (!b->session && (!re->gone || re->gone->heard_us < b->heard_us))
		re->gone = b;
	else if (b->session && run->state != 1)
		re->sick = re->sick ? re->sick : b;
	else if (b->session && (!b->accepts || b->drained))
		re->not = re->not ? re->not : b;
	else if (b->session && run->session)
		re->works = b;
}

static void say_where(const struct task *def, struct why_line *w)
{
	if (def->n_machines)
		why_text(w, "where", "its machines");
	else if (def->group[0])
		why_text(w, "where", "group %s", def->group);
	else
		why_text(w, "where", "any group");
}

static void say_sick(const struct broker *b, const struct task *def, struct why_line *w)
{
	const struct runner *run = runner_of(b, def->type);

	why_set(w, WHY_RUNNER_SICK);
	why_text(w, "type", "%s", def->type);
	why_text(w, "state", "%s", runner__state_name(run));
	why_text(w, "broker", "%s", b->name);
	why_text(w, "text", "%s", run->text);
}

static void say_barred(const struct broker *b, const struct task *def, struct why_line *w)
{
	why_set(w, WHY_NOT_LET_IN);
	why_text(w, "type", "%s", def->type);
	why_text(w, "broker", "%s", b->name);
	why_text(w, "text", "%s", barred_of(b, runner_of(b, def->type)));
}

static void say_gone(const struct broker *b, const struct task *def, struct why_line *w)
{
	char at[WHEN_TEXT];

	when_print(floor_div(b->heard_us, US_PER_S), at);
	why_set(w, WHY_BROKER_GONE);
	say_where(def, w);
	why_text(w, "type", "%s", def->type);
	why_text(w, "broker", "%s", b->name);
	why_text(w, "at", "%s", b->heard_us ? at : "before the server's start");
}

/* Why nothing is heard of what runs there; false: it is. */
static bool explain_unheard(const struct broker *b, const struct runner *run, char *ret,
                            size_t bytes)
{
	char at[WHEN_TEXT];

	if (b->session && registrar__is_keeperless(b)) {
		snprintf(ret, bytes, "%s", b->why_not);
		return true;
	}
	if (b->session || (run && run->session))
		return false;
	when_print(floor_div(b->heard_us, US_PER_S), at);
	snprintf(ret, bytes, "it is not connected, last heard %s%s", b->heard_us ? "at " : "",
	         b->heard_us ? at : "before the server's start");
	return true;
}

void registrar_explain_run(const struct registrar *r, const struct task *def,
                           const struct instance *i, struct why_line *w)
{
	const struct broker *b = NULL;

	CHECK(actor_here(r->me));
	for (size_t k = 0; k < r->n && !b; k++)
		if (r->brokers[k]->id == i->broker)
			b = r->brokers[k];
	const struct runner *run = b ? runner_of(b, def->type) : NULL;
	bool is_well = !run || run->state == RUNNER_READY;
	char text[sizeof b->why_not];
	bool is_unheard = b && is_well && explain_unheard(b, run, text, sizeof text);

	why_set(w, is_unheard ? WHY_RUNS_UNHEARD : is_well ? WHY_RUNS : WHY_RUNS_SICK);
	why_text(w, "state", "%s", state_name((enum state)i->state));
	why_number(w, "attempt", i->attempt);
	if (is_unheard || !is_well)
		why_text(w, "broker", "%s", b->name);
	if (is_unheard)
		why_text(w, "text", "%s", text);
	if (is_well)
		return;
	why_text(w, "sick", "%s", runner__state_name(run));
	why_text(w, "text", "%s", run->text);
}

void registrar_explain(const struct registrar *r, const struct task *def, struct why_line *w)
{
	struct reach re = { 0 };

	CHECK(actor_here(r->me));
	if (w->code != WHY_NO_BROKER && w->code != WHY_SLOTS)
		return;
	for (size_t i = 0; i < r->n; i++)
		explain_look(&re, r->brokers[i], def);
	bool is_narrow = w->is_narrow && (re.not || re.sick || re.barred || re.gone);
	if (re.works && w->code == WHY_SLOTS && !is_narrow)
		return;
	if (!re.known) {
		why_set(w, WHY_TYPE_UNKNOWN);
		why_text(w, "type", "%s", def->type);
	} else if (re.not ) {
		why_set(w, WHY_BROKER_NOT);
		say_where(def, w);
		why_text(w, "broker", "%s", re.not ->name);
		why_text(w, "why", "%s", re.not ->drained ? "drained" : re.not ->why_not);
	} else if (re.sick) {
		say_sick(re.sick, def, w);
	} else if (re.barred) {
		say_barred(re.barred, def, w);
	} else if (re.gone) {
		say_gone(re.gone, def, w);
	} else {
		why_set(w, WHY_NO_BROKER);
		say_where(def, w);
		why_text(w, "type", "%s", def->type);
	}
}

/* Too much load ends with the jobs that make it, and credit that is used up is given anew; a drain
 * or a sick runner ends when somebody does something. */
static int32_t slots_then(const struct broker *b, const struct forecast_seat *seat)
{
	const struct runner *run = runner_of(b, seat->type);

	if (!b->session || b->drained || (run && run->state != RUNNER_READY))
		return 0;
	if (!b->accepts && b->running == 0)
		return 0;
	return seat->running > 0 ? seat->running : 1;
}

void registrar_forecast(const struct registrar *r, struct forecast *f)
{
	CHECK(actor_here(r->me));
	for (size_t i = 0; i < f->n_seats; i++) {
		struct forecast_seat *seat = &f->seats[i];
		bool is_open = seat->accepts && !seat->is_asked;
		for (size_t k = 0; k < r->n && !is_open; k++)
			if (r->brokers[k]->id == seat->broker)
				seat->slots = slots_then(r->brokers[k], seat);
	}
	for (size_t i = 0; i < f->n_classes; i++) {
		struct forecast_class *k = &f->classes[i];
		bool some = false;
		for (size_t j = 0; j < k->seats.n; j++)
			some = some || f->seats[k->seats.seats[j]].slots > 0;
		if (some)
			why_set(&k->why, WHY_STARTS);
		else
			registrar_explain(r, f->tasks[k->of_task].def, &k->why);
	}
}
