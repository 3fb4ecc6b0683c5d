$(eval $(call library,rt,lib/rt))
