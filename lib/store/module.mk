$(eval $(call library,store,lib/store,$(B)/gen/store_schema.o $(patsubst %.c,$(B)/%.o,$(wildcard lib/store/journal/*.c))))

# The numbered migrations, embedded as text.
STORE_SQL := $(sort $(wildcard schema/sql/sqlite/*.sql))
STORE_FLOOR := $(firstword $(file <schema/sql/floor.txt))
$(B)/gen/store_schema.c: $(STORE_SQL) lib/store/embed.awk lib/store/module.mk schema/sql/floor.txt
	@mkdir -p $(@D) && echo "  SQL $@" && awk -v TABLE=store_schema -v FLOOR=$(STORE_FLOOR) -f lib/store/embed.awk $(STORE_SQL) >$@.tmp && mv $@.tmp $@
$(B)/gen/store_schema.o: $(B)/gen/store_schema.c lib/store/schema.h Makefile
	@$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# The MySQL store: a file of its own with what it needs of lib/ in it.
STORE_MYSQL_SQL := $(sort $(wildcard schema/sql/mysql/*.sql))
STORE_MYSQL_SRC := $(wildcard lib/store/mysql/*.c) $(addprefix lib/store/,audit.c batch.c row_read.c row_retain.c row_store.c rows.c schema.c sql_text.c tip.c) lib/sched/instance.c lib/sched/civil.c \
                   $(addprefix lib/util/,alloc.c buf.c chain.c check.c clock.c crc.c err.c utf8.c fs.c trust.c map.c)
STORE_MYSQL_OBJ := $(STORE_MYSQL_SRC:%.c=$(B)/pic/%.o) $(B)/pic/store_mysql_schema.o
OBJS += $(STORE_MYSQL_SRC:%.c=$(B)/pic/%.o)
PIC_CFLAGS = $(filter-out -fPIE,$(CFLAGS)) -fPIC
$(B)/gen/store_mysql_schema.c: $(STORE_MYSQL_SQL) lib/store/embed.awk lib/store/module.mk schema/sql/floor.txt
	@mkdir -p $(@D) && echo "  SQL $@" && awk -v TABLE=store_mysql_schema -v FLOOR=$(STORE_FLOOR) -f lib/store/embed.awk $(STORE_MYSQL_SQL) >$@.tmp && mv $@.tmp $@
$(B)/pic/store_mysql_schema.o: $(B)/gen/store_mysql_schema.c lib/store/schema.h Makefile
	@mkdir -p $(@D) && $(CC) $(CPPFLAGS) $(PIC_CFLAGS) -c -o $@ $<
$(B)/pic/%.o: %.c Makefile | build/.deps
	@mkdir -p $(@D) && echo "  CC  $< (module)" && $(CC) $(CPPFLAGS) $(PIC_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/modules/store_mysql.so: $(STORE_MYSQL_OBJ)
	@mkdir -p $(@D) && echo "  SO  $@" && $(CC) $(SOFLAGS) -o $@ $^ -lmariadb -lsodium -lunistring
all: $(B)/modules/store_mysql.so
