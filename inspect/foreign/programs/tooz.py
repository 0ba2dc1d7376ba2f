# debian: python3-tooz=3.1.0-3
# OpenStack's coordinator over Redis: locks (redis-py's), groups, members' heartbeats.
# lock: b'_tooz'_b'volume-7'_lock redis-py
import sys
from tooz import coordination
c = coordination.get_coordinator("redis://" + sys.argv[1] + "?timeout=60", b"host-1")
c.start(start_heart=True)
c.create_group(b"blocks").get()
c.join_group(b"blocks", b"caps").get()
c.get_lock(b"volume-7").acquire()
print("ready", flush=True)
sys.stdin.read()
