$(eval $(call library,directory,lib/directory))

# libldap in a file of its own: only who has a directory loads it.
LDAP_SRC := lib/directory/ldap/ldap.c lib/directory/ldap/escape.c $(addprefix lib/util/,alloc.c buf.c check.c clock.c err.c utf8.c)
OBJS += $(LDAP_SRC:%.c=$(B)/pic/%.o)
$(B)/modules/ldap.so: $(LDAP_SRC:%.c=$(B)/pic/%.o)
	@mkdir -p $(@D) && echo "  SO  $@" && $(CC) $(SOFLAGS) -o $@ $^ -lldap -llber -lunistring
all: $(B)/modules/ldap.so
