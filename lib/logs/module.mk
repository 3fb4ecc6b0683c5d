$(eval $(call library,logs,lib/logs))
