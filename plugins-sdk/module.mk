# The template is compiled with everything, so that it stays right; it is not installed.
$(B)/test/plugins/hello.so: plugins-sdk/template/hello.c plugins-sdk/include/sirdar/runner.h
	@mkdir -p $(@D) && echo "  SO  $@" && $(CC) $(CPPFLAGS) $(filter-out -fPIE,$(CFLAGS)) -fPIC $(SOFLAGS) -o $@ $<
all: $(B)/test/plugins/hello.so
# Runs one job of a plugin, without a server. Refuses plugins in the loader's own words.
$(eval $(call program,sirdar-runner-run,$(wildcard plugins-sdk/run/*.c) broker/loader/plugin.c,util,-lyaml -ldl))
