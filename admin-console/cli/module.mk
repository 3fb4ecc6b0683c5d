CLI_LDLIBS := -lyaml
$(eval $(call program,sirdar,$(wildcard admin-console/cli/*.c),sched rt util,$(CLI_LDLIBS)))
