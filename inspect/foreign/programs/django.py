# debian: python3-django-redis=5.2.0-1 python3-cachelib=0.9.0-1 python3-dogpile.cache=1.1.8-2 python3-redis=4.3.4-3
# Caches of Django, Flask and dogpile; the locks of django-redis and of dogpile's redis backend are redis-py's.
# lock: :1:report-lock redis-py
# lock: _lockpage redis-py
import sys, django, redis
from django.conf import settings
url = "redis://%s/0" % sys.argv[1]
settings.configure(CACHES={"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": url}})
django.setup()
from django.core.cache import cache
cache.set("blocks", [1, 2, 3]); cache.set("lock-screen", True, timeout=None); cache.set("unlocks", 7, timeout=None); cache.incr("unlocks")
cache.lock("report-lock", timeout=60).acquire()
from cachelib import RedisCache
host, port = sys.argv[1].split(":")
f = RedisCache(host, int(port), key_prefix="flask_lock_")
f.set("view/home", "<html>"); f.set("hits", 3, timeout=0)
from dogpile.cache import make_region
region = make_region().configure("dogpile.cache.redis", arguments={"url": url, "distributed_lock": True, "lock_timeout": 60, "redis_expiration_time": 600})
region.set("clock", "12:00")
region.backend.get_mutex("page").acquire()
print("ready", flush=True)
sys.stdin.read()
