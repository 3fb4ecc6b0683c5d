$(eval $(call library,wire,lib/wire,$(B)/gen/sirdar.pb-c.o))
