/* What a type is, told to the server: its state, why, and the plugin's version.
 *
 * type_say() is the one place that changes a type's state and its text together, and tells both.
 * type_tell() says them again: after a welcome, and when the jobkeeper goes or comes back, because
 * the text of a type that has jobs is then the jobkeeper's. A version on its way in is not told
 * before it is ready.
 */
#include <sirdar.pb-c.h>
#include <stdarg.h>
#include <stdio.h>

#include "broker/taskbroker/broker.h"
#include "util/check.h"
#include "util/log.h"

void type_tell(struct type *t)
{
	Sirdar__RunnerState m = SIRDAR__RUNNER_STATE__INIT;

	if (!t->broker->link || t->state == TYPE_WAITING || t->is_coming)
		return;
	m.lane = t->lane;
	m.type = t->name;
	m.version = t->version;
	m.state = t->state;
	m.text = t->holds && t->broker->keeper_down_us ? t->broker->keeper_why : t->text;
	m.abi_major = t->abi_major;
	m.abi_minor = t->abi_minor;
	link_send(t->broker->link, FR_RUNNER_STATE, &m, NULL);
}

void type_say(struct type *t, enum type_state state, const char *fmt, ...)
{
	va_list args;

	CHECK(t->state != TYPE_OVER && state <= TYPE_OVER);
	t->state = state;
	va_start(args, fmt);
	vsnprintf(t->text, sizeof t->text, fmt, args);
	va_end(args);
	log_info("broker.type", "type=%s lane=%u state=%d text=\"%s\"", t->name, t->lane, state,
	         t->text);
	type_tell(t);
}
