#include "store/store.h"
typedef int store_not_written_yet;
