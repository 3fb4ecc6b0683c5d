SIM_SRC := $(wildcard tests/sim/*.c)
SIM_LIBS := core store rt sched util
$(eval $(call program,sim,$(SIM_SRC),$(SIM_LIBS),-lev -lsqlite3 -lsodium -lyaml -lunistring -lcjson -lm -lprotobuf-c))

# The simulator with one seeded bug: only the sources that know of it are compiled again,
# and found before the libraries' own.
$(B)/sim-bug/%/sim: $(SIM_SRC:%.c=$(B)/%.o) $(SIM_LIBS:%=$(B)/lib%.a)
	@mkdir -p $(@D) && src=$$(grep -lw BUG_$* $(SIM_SRC) $(BASESERVER_CORE)) && \
	for c in $$src; do $(CC) $(CPPFLAGS) -DBUG_$* $(CFLAGS) -c -o $(@D)/$$(basename $$c .c).o $$c || exit 1; done && \
	keep=$$(for o in $(SIM_SRC:%.c=$(B)/%.o); do [ -e $(@D)/$$(basename $$o) ] || echo $$o; done) && \
	$(CC) $(LDFLAGS) -o $@ $(@D)/*.o $$keep $(SIM_LIBS:%=$(B)/lib%.a) $(SIM_LIBS:%=$(B)/lib%.a) \
	    -lev -lsqlite3 -lsodium -lyaml -lunistring -lcjson -lm -lprotobuf-c

# A unit test over the same: what it is to find is found before the libraries' own.
define bug_test
$$(B)/unit-bug/%/$(1): $$(B)/test/$(1)
	@mkdir -p $$(@D) && src=$$$$(grep -lw BUG_$$* $$(BASESERVER_CORE)) && \
	for c in $$$$src; do $$(CC) $$(CPPFLAGS) -DBUG_$$* $$(CFLAGS) -c -o $$(@D)/$$$$(basename $$$$c .c).o $$$$c || exit 1; done && \
	$$(CC) $$(LDFLAGS) -o $$@ $$(B)/tests/unit/$(1).o $$(@D)/*.o $$(UNIT_LIBS:%=$$(B)/lib%.a) $$(UNIT_LIBS:%=$$(B)/lib%.a) \
	    $$(UNIT_LDLIBS) -lcmocka
endef
$(foreach t,test_resolver test_sorter test_instantiator,$(eval $(call bug_test,$(t))))
