# libcurl, in a file of its own: only who has a provider, or a vault, loads it.
FETCH_SRC := lib/fetch/curl.c $(addprefix lib/util/,alloc.c buf.c check.c clock.c err.c utf8.c)
OBJS += $(FETCH_SRC:%.c=$(B)/pic/%.o)
$(B)/modules/fetch.so: $(FETCH_SRC:%.c=$(B)/pic/%.o)
	@mkdir -p $(@D) && echo "  SO  $@" && $(CC) $(SOFLAGS) -o $@ $^ -lcurl -lunistring
all: $(B)/modules/fetch.so
