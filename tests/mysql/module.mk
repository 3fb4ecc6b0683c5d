# The MySQL store under clocks of our own (run by `run`) and on two nodes of a cluster (run by
# tests/e2e/test_galera.py): linked with the module's own objects.
MYSQL_TESTS := days cluster
$(B)/test/mysql_%: $(B)/tests/mysql/test_%.o $(STORE_MYSQL_OBJ)
	@mkdir -p $(@D) && echo "  LD  $@" && $(CC) $(LDFLAGS) -o $@ $^ -lmariadb -lsodium -lunistring -lcmocka
OBJS += $(MYSQL_TESTS:%=$(B)/tests/mysql/test_%.o)
# Without optimization the headers of the tests keep what these do not call.
all: $(if $(COVERAGE),,$(MYSQL_TESTS:%=$(B)/test/mysql_%))
# Preloaded by mariadb.py into programs that are not ours: without sanitizers.
$(B)/test/nosync.so: tests/mysql/nosync.c
	@mkdir -p $(@D) && echo "  SO  $@" && $(CC) -O1 -fPIC -shared -Wall -Werror -o $@ $<
all: $(if $(COVERAGE),,$(B)/test/nosync.so)
