SIM_SRC := $(wildcard tests/sim/*.c)
SIM_LIBS := core openid directory support store rt sched util
# What it commits goes through its journal record and back: tests/support/journal_twice.c.
SIM_WRAP := -Wl,--wrap=store_commit
$(eval $(call program,sim,$(SIM_SRC),$(SIM_LIBS),$(SIM_WRAP) -lev -lsqlite3 -lsodium -lyaml -lunistring -lcjson -lm -lprotobuf-c -lgnutls))

# Copies of the sources that a planted bug touches, compiled: $(1) patch, $(2) folder for them.
define planted
rm -rf $(2) && mkdir -p $(2) && src=$$(tests/sim/planted.py copy $(1) $(2)/src) && \
for c in $$src; do $(CC) $(CPPFLAGS) -iquote $$(dirname $$c) $(CFLAGS) -c -o $(2)/$$(basename $$c .c).o $(2)/src/$$c || exit 1; done
endef

# The simulator with one planted bug: what its patch touches is found before the libraries' own.
$(B)/sim-bug/%/sim: tests/sim/planted/%.patch $(SIM_SRC:%.c=$(B)/%.o) $(SIM_LIBS:%=$(B)/lib%.a)
	@$(call planted,$*,$(@D)) && \
	keep=$$(for o in $(SIM_SRC:%.c=$(B)/%.o); do [ -e $(@D)/$$(basename $$o) ] || echo $$o; done) && \
	$(CC) $(LDFLAGS) -o $@ $(@D)/*.o $$keep $(SIM_LIBS:%=$(B)/lib%.a) $(SIM_LIBS:%=$(B)/lib%.a) \
	    $(SIM_WRAP) -lev -lsqlite3 -lsodium -lgnutls -lyaml -lunistring -lcjson -lm -lprotobuf-c

# A unit test over the same.
define bug_test
$$(B)/unit-bug/%/$(1): tests/sim/planted/%.patch $$(B)/test/$(1)
	@$$(call planted,$$*,$$(@D)) && \
	$$(CC) $$(LDFLAGS) -o $$@ $$(B)/tests/unit/$(1).o $$(@D)/*.o $$(UNIT_LIBS:%=$$(B)/lib%.a) $$(UNIT_LIBS:%=$$(B)/lib%.a) \
	    $$(UNIT_LDLIBS) -lcmocka
endef
$(foreach t,test_resolver test_sorter test_batch test_ledger test_maintainer test_command_tasks test_instantiator test_parts_again test_kept test_journal,$(eval $(call bug_test,$(t))))
