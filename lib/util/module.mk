$(eval $(call library,util,lib/util))
