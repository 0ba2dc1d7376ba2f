# debian: python3-kazoo=2.8.0-2
# store: zookeeper
# Parties, counters, queues, barriers, watchers of kazoo: nothing of it is a lock. Two members joined two parties in different
# order, as membership registries do.
import sys, threading, time
from kazoo.client import KazooClient
clients = [KazooClient(hosts=sys.argv[1]) for _ in range(3)]
for c in clients: c.start()
a, b, c = clients
for first, second, path in ((a, b, "/members/blue"), (b, a, "/members/green")):
    first.Party(path, "one").join(); second.Party(path, "two").join()
a.ShallowParty("/shallow", "host-1").join(); b.ShallowParty("/shallow", "host-2").join()
for first, second, path in ((a, b, "/register/blue"), (b, a, "/register/green")):
    for who in (first, second):
        who.create(path + "/member-", b"host", ephemeral=True, sequence=True, makepath=True)
n = a.Counter("/count/int"); n += 3
n = b.Counter("/count/float", default=1.0); n += 2.0
q = a.Queue("/queues/plain"); q.put(b"one"); q.put(b"two", priority=5); b.Queue("/queues/plain").get()
l = a.LockingQueue("/queues/locking"); l.put(b"x"); l.put(b"y"); b.LockingQueue("/queues/locking").get(timeout=2)
a.Barrier("/barrier").create()
d = b.DoubleBarrier("/double", 2); threading.Thread(target=d.enter, daemon=True).start()
a.DataWatch("/count/int", lambda *x: None); b.ChildrenWatch("/members/blue", lambda *x: None)
a.create("/config/a", b"{}", makepath=True); b.create("/config/flags/lock", b"1", makepath=True)
for i in range(3): c.create("/log/entry-", b"x", sequence=True, makepath=True)
c.create("/live/node1:8983_solr", b"", ephemeral=True, makepath=True)
p = a.SetPartitioner("/partition", set=(1, 2, 3))
time.sleep(2)
print("ready", flush=True)
sys.stdin.read()
