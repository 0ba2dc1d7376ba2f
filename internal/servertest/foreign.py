"""Takes one lock of kazoo or redis-py again and again, whatever fails, until it is killed.

What it held for certain goes to a report, in the records of lockops/campaign: holds whose release the server confirmed.
"""
import json
import sys
import time

library, hosts, name, ttl, report, worker = sys.argv[1:7]
ttl, worker, holds = float(ttl), int(worker), 0


def held(called, granted, released, by):
    global holds
    holds += 1
    steps = [("acquire", called), ("granted", granted), ("release", released), ("released", time.monotonic_ns())]
    common = {"w": worker, "h": holds, "lock": name, "kind": "mutex", "name": by}
    with open(report, "a") as out:
        out.write("".join(json.dumps({"t": at, "op": op, **common}) + "\n" for op, at in steps))


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
            called = time.monotonic_ns()
            if not lock.acquire():
                continue
            granted = time.monotonic_ns()
            if library == "kazoo":
                by, session = lock.node, client.client_id
            else:
                by, session = lock.local.token.decode(), None
            time.sleep(0.001)
            released = time.monotonic_ns()
            lock.release()
            if library != "kazoo" or client.client_id == session:  # kazoo is silent about a node that went with its session
                held(called, granted, released, by)
    except Exception:
        time.sleep(0.1)
    finally:
        try:
            client.stop() if library == "kazoo" else client.close()
        except Exception:
            pass
