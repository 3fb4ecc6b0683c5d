# The programs of the releases after this one, as far as an upgrade goes: a later schema, a later
# version of the protocol. $(B)/next1: the next release; $(B)/next2: the one after that. What
# differs are two objects, found before the libraries' own. Made on demand: `make next`.
NEXT_PROGRAMS := baseserver sirdar-cgi taskbroker taskrunner-loader jobkeeper sirdar-runner-run sirdar
# $(B)/former: programs that speak the protocol of the release before, and no other.
FORMER_PROGRAMS := baseserver sirdar-cgi taskbroker taskrunner-loader jobkeeper
$(B)/former/made: all
	@echo "  FORMER" && rm -rf $(@D) && mkdir -p $(@D)/bin
	@$(CC) $(CPPFLAGS) -DSIRDAR_NEXT=-1 $(CFLAGS) -c -o $(@D)/protocol.o lib/wire/protocol.c
	@$(foreach p,$(FORMER_PROGRAMS),$(CC) $(LDFLAGS) -o $(@D)/bin/$(p) $(OBJS_OF_$(p)) $(@D)/protocol.o \
	    $(LIBS_OF_$(p):%=$(B)/lib%.a) $(LIBS_OF_$(p):%=$(B)/lib%.a) $(LDLIBS_OF_$(p)) &&) \
	ln -sfn ../modules $(@D)/modules && ln -sfn ../runners $(@D)/runners && ln -sfn ../types $(@D)/types && touch $@

.PHONY: next
next: $(B)/next1/made $(B)/next2/made
$(B)/next%/made: all
	@echo "  NEXT $*" && rm -rf $(@D) && mkdir -p $(@D)/bin $(@D)/modules $(@D)/sqlite $(@D)/mysql && \
	for db in sqlite mysql; do \
		cp schema/sql/$$db/*.sql $(@D)/$$db && n=$(words $(STORE_SQL)) && \
		for k in $$(seq $*); do \
			n=$$((n + 1)) && cp tests/upgrade/next$$k.$$db.sql $(@D)/$$db/$$(printf %04d $$n)_next$$k.sql || exit 1; \
		done; \
	done
	@floor=$$(($(words $(STORE_SQL)) + $* - 1)) && cd $(@D) && \
	awk -v TABLE=store_schema -v FLOOR=$$floor -f $(CURDIR)/lib/store/embed.awk sqlite/*.sql >schema.c && \
	awk -v TABLE=store_mysql_schema -v FLOOR=$$floor -f $(CURDIR)/lib/store/embed.awk mysql/*.sql >mysql_schema.c
	@$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $(@D)/schema.o $(@D)/schema.c && \
	$(CC) $(CPPFLAGS) $(PIC_CFLAGS) -c -o $(@D)/mysql_schema.o $(@D)/mysql_schema.c && \
	$(CC) $(CPPFLAGS) -DSIRDAR_NEXT=$* $(CFLAGS) -c -o $(@D)/protocol.o lib/wire/protocol.c
	@$(foreach p,$(NEXT_PROGRAMS),$(CC) $(LDFLAGS) -o $(@D)/bin/$(p) $(OBJS_OF_$(p)) $(@D)/schema.o $(@D)/protocol.o \
	    $(LIBS_OF_$(p):%=$(B)/lib%.a) $(LIBS_OF_$(p):%=$(B)/lib%.a) $(LDLIBS_OF_$(p)) &&) \
	$(CC) $(SOFLAGS) -o $(@D)/modules/store_mysql.so $(filter-out %/store_mysql_schema.o,$(STORE_MYSQL_OBJ)) \
	    $(@D)/mysql_schema.o -lmariadb -lsodium -lunistring
	@ln -sfn ../runners $(@D)/runners && ln -sfn ../types $(@D)/types && touch $@
