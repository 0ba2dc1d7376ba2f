"""Takes one kazoo Lock and holds it until a line comes in."""
import sys
from kazoo.client import KazooClient

client = KazooClient(hosts=sys.argv[1], timeout=30)
client.start()
lock = client.Lock(sys.argv[2], sys.argv[3])
session, password = client.client_id
print("started", session, password.hex(), flush=True)
lock.acquire()
print("acquired", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
client.stop()
client.close()
