# The template is compiled with everything, so that it stays right; it is not installed.
$(B)/test/plugins/hello.so: plugins-sdk/template/hello.c plugins-sdk/include/sirdar/runner.h
	@mkdir -p $(@D) && echo "  SO  $@" && $(CC) $(CPPFLAGS) $(filter-out -fPIE,$(CFLAGS)) -fPIC $(SOFLAGS) -o $@ $<
all: $(B)/test/plugins/hello.so
# Runs one job of a plugin, without a server. Refuses plugins in the loader's own words.
$(eval $(call program,sirdar-runner-run,$(wildcard plugins-sdk/run/*.c) broker/loader/plugin.c broker/loader/guest.c broker/loader/dial.c broker/link/digest.c,util,-lyaml -lunistring -lgnutls -ldl))
# Tries every promise of runner.h on a plugin.
$(eval $(call program,sirdar-runner-conformance,$(wildcard plugins-sdk/conformance/*.c) $(filter-out plugins-sdk/run/main.c,$(wildcard plugins-sdk/run/*.c)) broker/loader/plugin.c broker/loader/guest.c broker/loader/dial.c broker/link/digest.c,util,-lyaml -lunistring -lgnutls -ldl))
