# Each program's owner keeps its own lines.
$(eval $(call library,link,broker/link))
$(eval $(call library,loader,broker/loader))

BROKER_LIBS := link wire rt util
BROKER_LDLIBS := -lev -lprotobuf-c -lgnutls -lyaml -lunistring -ldl
# It holds the processes of guests as the jobkeeper holds jobs.
REMAINS := remains limiter tree tree_scan delegate
LOADER_KEEPER := client landlock launch launch_new rights tenant $(REMAINS)
$(eval $(call program,taskrunner-loader,broker/loader/main.c $(LOADER_KEEPER:%=broker/keeper/%.c),loader $(BROKER_LIBS),$(BROKER_LDLIBS)))
$(eval $(call program,taskbroker,$(wildcard broker/taskbroker/*.c) $(REMAINS:%=broker/keeper/%.c) broker/keeper/client.c broker/keeper/box.c broker/keeper/landlock.c broker/keeper/rights.c broker/keeper/tenant.c,etcd $(BROKER_LIBS),$(BROKER_LDLIBS) -lcjson))

# The jobkeeper: small on purpose, and no TLS (its peers are on this machine).
KEEPER_C := $(filter-out broker/keeper/client.c broker/keeper/remains.c,$(wildcard broker/keeper/*.c))
$(eval $(call program,jobkeeper,$(KEEPER_C),wire rt util,-lev -lprotobuf-c -lunistring))
# For its unit test.
$(eval $(call objects,launcher,$(addprefix broker/keeper/,launcher.c launcher_left.c launcher_user.c launcher_ask.c delegate.c landlock.c launch.c launch_new.c rights.c tenant.c)))
