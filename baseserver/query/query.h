/* query.h — what clients ask to be shown: carried out on the commander's thread, as its guests. */
#ifndef BASESERVER_QUERY_H
#define BASESERVER_QUERY_H

#include "baseserver/command/commander.h"
#include "baseserver/forecast/forecaster.h"

extern const struct commander_guests query_guests;

/* All that is promised, and what that depends on, for the forecaster. */
struct forecast_source query_promises(struct commander *c);

#endif
