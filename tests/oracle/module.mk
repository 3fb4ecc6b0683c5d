# The program that the independent model (oracle.py) questions.
ORACLE_LDLIBS := -lev -lprotobuf-c -lgnutls -lsqlite3 -lsodium -lyaml -lunistring -lm
$(eval $(call linked,oracle_driver,tests/oracle/oracle_driver.c,rt sched util,$(ORACLE_LDLIBS),$$(B)/test/oracle_driver))
all: $(B)/test/oracle_driver
