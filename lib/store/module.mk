$(eval $(call library,store,lib/store,$(B)/gen/store_schema.o))

# The numbered migrations, embedded as text.
STORE_SQL := $(sort $(wildcard schema/sql/sqlite/*.sql))
$(B)/gen/store_schema.c: $(STORE_SQL) lib/store/embed.awk lib/store/module.mk
	@mkdir -p $(@D) && echo "  SQL $@" && awk -f lib/store/embed.awk $(STORE_SQL) >$@.tmp && mv $@.tmp $@
$(B)/gen/store_schema.o: $(B)/gen/store_schema.c lib/store/schema.h Makefile
	@$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
