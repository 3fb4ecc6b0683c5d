SIM_SRC := $(wildcard tests/sim/*.c)
SIM_LIBS := core store rt sched util
$(eval $(call program,sim,$(SIM_SRC),$(SIM_LIBS),-lev -lsqlite3 -lsodium -lyaml -lcjson -lm -lprotobuf-c))

# The simulator with one seeded bug: only the sources that know of it are compiled again,
# and found before the libraries' own.
$(B)/sim-bug/%/sim: $(SIM_SRC:%.c=$(B)/%.o) $(SIM_LIBS:%=$(B)/lib%.a)
	@mkdir -p $(@D) && src=$$(grep -lw BUG_$* $(SIM_SRC) $(BASESERVER_CORE)) && \
	for c in $$src; do $(CC) $(CPPFLAGS) -DBUG_$* $(CFLAGS) -c -o $(@D)/$$(basename $$c .c).o $$c || exit 1; done && \
	keep=$$(for o in $(SIM_SRC:%.c=$(B)/%.o); do [ -e $(@D)/$$(basename $$o) ] || echo $$o; done) && \
	$(CC) $(LDFLAGS) -o $@ $(@D)/*.o $$keep $(SIM_LIBS:%=$(B)/lib%.a) $(SIM_LIBS:%=$(B)/lib%.a) \
	    -lev -lsqlite3 -lsodium -lyaml -lcjson -lm -lprotobuf-c
