# The MySQL store's partitions under any clock: linked with the module's own objects, run by `run`.
$(B)/test/mysql_days: $(B)/tests/mysql/test_days.o $(STORE_MYSQL_OBJ)
	@mkdir -p $(@D) && echo "  LD  $@" && $(CC) $(LDFLAGS) -o $@ $^ -lmariadb -lsodium -lcmocka
OBJS += $(B)/tests/mysql/test_days.o
all: $(B)/test/mysql_days
