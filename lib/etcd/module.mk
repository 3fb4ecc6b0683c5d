$(eval $(call library,etcd,lib/etcd))

# libcurl, in a file of its own: only who is told of an etcd loads it.
ETCD_HTTP_SRC := $(wildcard lib/etcd/http/*.c) $(addprefix lib/util/,alloc.c buf.c check.c clock.c err.c utf8.c)
OBJS += $(ETCD_HTTP_SRC:%.c=$(B)/pic/%.o)
$(B)/modules/etcd_http.so: $(ETCD_HTTP_SRC:%.c=$(B)/pic/%.o)
	@mkdir -p $(@D) && echo "  SO  $@" && $(CC) $(SOFLAGS) -o $@ $^ -lcurl -lunistring
all: $(B)/modules/etcd_http.so
