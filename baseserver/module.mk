# The actors are a library, so that the simulator and the tests link the same code.
$(eval $(call library,baseserver,baseserver))
