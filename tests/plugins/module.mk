# Plugins for tests: good ones of odd ways, and bad ones. $(B)/test/plugins/NAME.so
TEST_PLUGINS := $(patsubst tests/plugins/%.c,$(B)/test/plugins/%.so,$(wildcard tests/plugins/*.c))
$(B)/test/plugins/%.so: tests/plugins/%.c plugins-sdk/include/sirdar/runner.h
	@mkdir -p $(@D) && echo "  SO  $@" && $(CC) $(CPPFLAGS) $(filter-out -fPIE,$(CFLAGS)) -fPIC \
	    $(SOFLAGS) -Wl,-z,undefs -o $@ $<
all: $(TEST_PLUGINS)
