"""Takes one redis-py Lock and holds it until a line comes in. A fourth argument is its token and the connection's name."""
import sys
import redis

name = sys.argv[4] if len(sys.argv) > 4 else None
client = redis.Redis(host=sys.argv[1], port=int(sys.argv[2]), client_name=name)
lock = client.lock(sys.argv[3], timeout=30, sleep=0.05)
print("started", flush=True)
lock.acquire(token=name)
print("acquired", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
