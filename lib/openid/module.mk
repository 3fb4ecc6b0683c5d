$(eval $(call library,openid,lib/openid))
