# Every schema of schema/proto is compiled into the library.
WIRE_PB_O := $(patsubst schema/proto/%.proto,$(B)/gen/%.pb-c.o,$(wildcard schema/proto/*.proto))
$(WIRE_PB_O): | $(WIRE_PB_O:.o=.h)
$(eval $(call library,wire,lib/wire,$(WIRE_PB_O)))
