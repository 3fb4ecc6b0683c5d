/* query.h — what clients ask to be shown: carried out on the commander's thread, as its guests. */
#ifndef BASESERVER_QUERY_H
#define BASESERVER_QUERY_H

#include "baseserver/command/commander.h"

extern const struct commander_guests query_guests;

#endif
