$(eval $(call library,sched,lib/sched))
