/* Kinds of channels: the rows of schema/tbl/channel.def. */
#include <string.h>

#include "notifier/channels.h"

const char CHANNEL_PENDING[] = "its secrets have not come from the server yet";

struct type_row {
	const char *name, *needs;
};

static const struct type_row types[] = {
#define CHANNEL(name, text, needs, payload, answer, made) { text, needs },
#include "tbl/channel.def"
#undef CHANNEL
};

const char *channel_type_name(enum channel_type type)
{
	return types[type].name;
}

const char *channel_type_needs(enum channel_type type)
{
	return types[type].needs;
}

bool channel_type_of(const char *name, enum channel_type *ret)
{
	for (int i = 0; i < CH_COUNT; i++)
		if (strcmp(types[i].name, name) == 0) {
			*ret = (enum channel_type)i;
			return true;
		}
	return false;
}

bool channel_is_personal(enum channel_type type)
{
	return type == CH_MAIL || type == CH_PUSH;
}
