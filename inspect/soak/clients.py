"""Takes and releases locks of kazoo and redis-py again and again until its input ends, and notes each step in a line:
SECONDS KIND LOCK NAME, where NAME is the contender on the server, or, where it began, how its name begins."""
import logging
import random
import sys
import threading
import time
import uuid

import redis
import redis.sentinel
from kazoo.client import KazooClient
from kazoo.retry import KazooRetry

logging.disable(logging.CRITICAL)
zookeepers, sentinels, master_name, single, seed = sys.argv[1:]
stopped = threading.Event()
out = threading.Lock()


def note(kind, lock, name, at=None):
    with out:
        print("%.6f" % (at or time.time()), kind, lock, name, flush=True)


def hold(rng):
    stopped.wait(rng.uniform(4, 8) if rng.randrange(6) == 0 else rng.uniform(0.1, 1.5))


def kazoo(n):
    rng = random.Random("%s kazoo %d" % (seed, n))
    zk = KazooClient(hosts=zookeepers, timeout=8, connection_retry=KazooRetry(max_tries=-1, max_delay=1),
                     command_retry=KazooRetry(max_tries=-1, max_delay=1))
    zk.start(timeout=30)
    path = "/soak/kazoo"
    while not stopped.is_set():
        stopped.wait(rng.uniform(0.1, 1.5))
        lock = zk.Lock(path, "worker-%d" % n)
        note("began", "zk:" + path, lock.prefix)
        asked = time.time()
        try:
            lock.acquire(timeout=20)
        except Exception:
            continue
        name = lock.node
        note("asked", "zk:" + path, name, asked)
        note("acquired", "zk:" + path, name)
        hold(rng)
        note("releasing", "zk:" + path, name)
        try:
            note("released" if lock.release() else "lost", "zk:" + path, name)
        except Exception:
            note("lost", "zk:" + path, name)
    zk.stop()
    zk.close()


def redis_py(n, client, backend, key):
    rng = random.Random("%s %s %d" % (seed, backend, n))
    while not stopped.is_set():
        stopped.wait(rng.uniform(0.1, 1.5))
        lock = client.lock(key, timeout=10, sleep=0.1, blocking_timeout=20)
        token = uuid.uuid1().hex
        note("asked", backend + ":" + key, token)
        try:
            if not lock.acquire(token=token):
                note("lost", backend + ":" + key, token)
                continue
        except Exception:
            note("lost", backend + ":" + key, token)
            continue
        note("acquired", backend + ":" + key, token)
        hold(rng)
        note("releasing", backend + ":" + key, token)
        try:
            lock.release()
            note("released", backend + ":" + key, token)
        except Exception:
            note("lost", backend + ":" + key, token)


threads = [threading.Thread(target=kazoo, args=(n,)) for n in range(2)]
servers = [tuple(s.split(":")) for s in sentinels.split(",")]
for n in range(2):
    client = redis.sentinel.Sentinel(servers, socket_timeout=2).master_for(master_name, socket_timeout=2)
    threads.append(threading.Thread(target=redis_py, args=(n, client, "sentinel", "lock:redis-py")))
for t in threads:
    t.daemon = True
    t.start()
sys.stdin.read()
stopped.set()
for t in threads:
    t.join()
