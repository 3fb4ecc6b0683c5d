$(eval $(call library,store,lib/store))
