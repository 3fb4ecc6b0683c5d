$(eval $(call library,support,tests/support))
