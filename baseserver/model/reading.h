/* reading.h — is reading bound to projects? A document of kind DOC_SETTING; without one: no. */
#ifndef BASESERVER_READING_H
#define BASESERVER_READING_H

#include <stdbool.h>

#include "baseserver/model/docs.h"

#define READING_NAME "reading"

bool reading_is_bound(const struct docs *settings);

#endif
