"""Takes one lock of kazoo or redis-py again and again, whatever fails, until it is killed."""
import sys
import time

library, hosts, name, ttl = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
print("started", flush=True)
while True:
    try:
        if library == "kazoo":
            from kazoo.client import KazooClient

            client = KazooClient(hosts=hosts, timeout=ttl)
            client.start(timeout=5)
            lock = client.Lock(name, "foreign")
        else:
            import redis

            host, port = hosts.split(":")
            client = redis.Redis(host=host, port=int(port), socket_timeout=2)
            lock = client.lock(name, timeout=ttl, sleep=0.02, blocking_timeout=5)
        while True:
            if lock.acquire():
                time.sleep(0.001)
                lock.release()
    except Exception:
        time.sleep(0.1)
    finally:
        try:
            client.stop() if library == "kazoo" else client.close()
        except Exception:
            pass
