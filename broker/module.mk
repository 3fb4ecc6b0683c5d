# One line a program; each program's owner keeps its own.
$(eval $(call library,link,broker/link))
$(eval $(call library,loader,broker/loader))

BROKER_LIBS := link wire rt util
BROKER_LDLIBS := -lev -lprotobuf-c -lgnutls -lyaml -ldl
ifneq ($(wildcard broker/keeper/client.c),)
$(eval $(call program,taskrunner-loader,broker/loader/main.c broker/keeper/client.c,loader $(BROKER_LIBS),$(BROKER_LDLIBS)))
endif
