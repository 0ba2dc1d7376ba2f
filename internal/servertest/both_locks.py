"""One program that takes a kazoo Lock and a Redisson fair lock, in either order: it says waiting and acquired of each, and holds
both until it is killed. The lock on Redis is written as RedissonFairLock writes
it (hash, queue, timeouts) by a script of our own, sent by redis-py, without re-entry."""
import sys
import time
import redis
from kazoo.client import KazooClient

FAIR = """
while true do
    local first = redis.call('lindex', KEYS[2], 0);
    if first == false then break; end;
    local timeout = redis.call('zscore', KEYS[3], first);
    if timeout ~= false and tonumber(timeout) <= tonumber(ARGV[4]) then
        redis.call('zrem', KEYS[3], first);
        redis.call('lpop', KEYS[2]);
    else break; end;
end;
if (redis.call('exists', KEYS[1]) == 0) and ((redis.call('exists', KEYS[2]) == 0) or (redis.call('lindex', KEYS[2], 0) == ARGV[2])) then
    redis.call('lpop', KEYS[2]);
    redis.call('zrem', KEYS[3], ARGV[2]);
    redis.call('hset', KEYS[1], ARGV[2], 1);
    redis.call('pexpire', KEYS[1], ARGV[1]);
    return nil;
end;
local ttl = redis.call('pttl', KEYS[1]);
if redis.call('zadd', KEYS[3], ttl + tonumber(ARGV[3]) + tonumber(ARGV[4]), ARGV[2]) == 1 then
    redis.call('rpush', KEYS[2], ARGV[2]);
end;
return ttl;
"""

servers, host, port, name, path, key, first = sys.argv[1:]
zk = KazooClient(hosts=servers, timeout=30)
zk.start()
client = redis.Redis(host=host, port=int(port), client_name=name)
subscribed = client.pubsub()
owner = name + ":1"


def in_zookeeper():
    print("waiting zookeeper", flush=True)
    zk.Lock(path, name).acquire()
    print("acquired zookeeper", flush=True)


def on_redis():
    subscribed.subscribe("redisson_lock__channel:{%s}:%s" % (key, owner))
    subscribed.get_message(timeout=5)
    keys = [key, "redisson_lock_queue:{%s}" % key, "redisson_lock_timeout:{%s}" % key]
    told = False
    while client.eval(FAIR, 3, *keys, 600000, owner, 300000, int(time.time() * 1000)) is not None:
        if not told:
            print("waiting redis", flush=True)
            told = True
        subscribed.get_message(timeout=1)
    print("acquired redis", flush=True)


steps = [in_zookeeper, on_redis]
if first == "redis":
    steps.reverse()
print("started", flush=True)
steps[0]()
sys.stdin.readline()
steps[1]()
sys.stdin.readline()
