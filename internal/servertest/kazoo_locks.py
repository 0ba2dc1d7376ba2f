"""Takes kazoo's locks, many in one process. Each line that comes in is KIND CLIENT PATH and perhaps a number; each CLIENT has
a session of its own, each line a thread of its own, which keeps what it got and says so, or says refused. "close CLIENT" ends a client; "timeout
SECONDS" is that of the sessions of the clients to come."""
import datetime
import sys
import threading
from kazoo.client import KazooClient

clients = {}
timeout = 10


def client(name):
    if name not in clients:
        clients[name] = KazooClient(hosts=sys.argv[1], timeout=timeout)
        clients[name].start()
    return clients[name]


def take(zk, kind, name, path, number):
    if kind == "lock":
        zk.Lock(path, name).acquire()
    elif kind == "mixing":
        zk.Lock(path, name, extra_lock_patterns=["-lock-"]).acquire()
    elif kind == "persistent":
        zk.Lock(path, name).acquire(ephemeral=False)
    elif kind == "read":
        zk.ReadLock(path, name).acquire()
    elif kind == "write":
        zk.WriteLock(path, name).acquire()
    elif kind == "election":
        zk.Election(path, name).run(lambda: (told(kind, name, path), threading.Event().wait()))
    elif kind == "semaphore":
        zk.Semaphore(path, name, max_leases=int(number)).acquire()
    elif kind == "lease":
        if not zk.NonBlockingLease(path, datetime.timedelta(seconds=int(number)), name):
            print("refused", kind, name, path, flush=True)
            return
    elif kind == "leases":
        if not zk.MultiNonBlockingLease(2, path, datetime.timedelta(seconds=int(number)), name):
            print("refused", kind, name, path, flush=True)
            return
    else:
        raise ValueError(kind)
    told(kind, name, path)


def told(kind, name, path):
    print("acquired", kind, name, path, flush=True)


print("started", flush=True)
for line in sys.stdin:
    kind, name, *rest = line.split()
    if kind == "close":
        zk = clients.pop(name)
        zk.stop()
        zk.close()
    elif kind == "timeout":
        timeout = float(name)
    else:
        args = (client(name), kind, name, rest[0], rest[1] if rest[1:] else "")
        threading.Thread(target=take, args=args, daemon=True).start()
