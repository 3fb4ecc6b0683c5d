# The scheduling actors are a library of their own: the simulator links the same code.
BASESERVER_NET := $(wildcard baseserver/net/worker*.c baseserver/net/router*.c baseserver/daemon*.c baseserver/main.c \
                    baseserver/net/logkeeper*.c baseserver/client*.c)
BASESERVER_CORE := $(filter-out $(BASESERVER_NET),$(wildcard baseserver/*.c baseserver/*/*.c))
$(eval $(call objects,core,$(BASESERVER_CORE)))
# For tests of the worker: what is linked comes from here but for what the test has itself.
$(eval $(call objects,net,$(filter-out baseserver/main.c baseserver/daemon%,$(BASESERVER_NET))))
ifneq ($(wildcard baseserver/net/worker_client.c),)
$(eval $(call program,baseserver,$(BASESERVER_NET),core openid directory etcd wire store logs home rt sched util,-lev -lgnutls -lprotobuf-c -lsqlite3 -lsodium -lyaml -lunistring -lcjson -lzstd -lm))
endif
