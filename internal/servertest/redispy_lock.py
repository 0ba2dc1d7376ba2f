"""Takes one redis-py Lock and holds it until a line comes in."""
import sys
import redis

client = redis.Redis(host=sys.argv[1], port=int(sys.argv[2]))
lock = client.lock(sys.argv[3], timeout=30, sleep=0.05)
print("started", flush=True)
lock.acquire()
print("acquired", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
