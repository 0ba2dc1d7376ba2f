"""Takes one kazoo Lock and holds it until a line comes in."""
import sys
from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1], timeout=5)
client.start()
lock = client.Lock(sys.argv[2], sys.argv[3])
print("started", flush=True)
lock.acquire()
print("acquired", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
client.stop()
client.close()
