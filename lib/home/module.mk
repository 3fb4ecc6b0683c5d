$(eval $(call library,home,lib/home))
