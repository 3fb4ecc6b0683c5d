$(eval $(call plugin,noop,runners/noop/noop.c))
$(eval $(call plugin,shell,$(wildcard runners/shell/*.c)))
