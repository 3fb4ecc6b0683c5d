#include "wire/frame.h"
const char *frame_name(unsigned kind)
{
	switch (kind) {
#define FRAME(name, num, msg, who, max) case num: return #name;
#include "tbl/frame.def"
#undef FRAME
	default: return 0;
	}
}
