# debian: python3-limits=2.8.0-1 python3-redis=4.3.4-3
# Windows of a rate limiter, whose moving window is a list.
import sys
from limits import parse, storage, strategies
s = storage.storage_from_string("redis://" + sys.argv[1])
for kind in (strategies.FixedWindowRateLimiter, strategies.MovingWindowRateLimiter, strategies.FixedWindowElasticExpiryRateLimiter):
    for i in range(4):
        kind(s).hit(parse("3/minute"), kind.__name__, "unlock", "alice")
print("ready", flush=True)
sys.stdin.read()
