# A library too, so that unit tests can link what the program is made of.
CGI_LIBS := cgi openid etcd wire store rt sched util
CGI_LDLIBS := -lev -lprotobuf-c -lgnutls -lsqlite3 -lsodium -lyaml -lunistring -lmicrohttpd -lcjson -lzstd -lz -lm
$(eval $(call library,cgi,cgi,$(patsubst %.c,$(B)/%.o,$(wildcard cgi/*/*.c))))
$(eval $(call program,sirdar-cgi,cgi/main.c,$(CGI_LIBS),$(CGI_LDLIBS)))
$(B)/cgi/handlers/handle_page.o: $(wildcard admin-console/web/status.*)

# libldap in a file of its own: only who has a directory loads it.
CGI_WAY_UTIL := $(addprefix lib/util/,alloc.c buf.c check.c clock.c err.c utf8.c)
CGI_LDAP_SRC := cgi/who/ldap/ldap.c cgi/who/ldap/escape.c $(CGI_WAY_UTIL)
OBJS += $(CGI_LDAP_SRC:%.c=$(B)/pic/%.o)
$(B)/modules/cgi_ldap.so: $(CGI_LDAP_SRC:%.c=$(B)/pic/%.o)
	@mkdir -p $(@D) && echo "  SO  $@" && $(CC) $(SOFLAGS) -o $@ $^ -lldap -llber -lunistring
all: $(B)/modules/cgi_ldap.so
