package zkserver_test

import (
	"os/exec"
	"strings"
	"testing"

	"lockscope/internal/servertest"
)

// kazooScript lets two kazoo clients meet at one Lock: contend, hand over, release, and give up in time.
const kazooScript = `
import sys, threading
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

hosts, path = sys.argv[1:3]
clients = [KazooClient(hosts=hosts, timeout=5) for _ in range(2)]
for c in clients:
    c.start()
a, b = (c.Lock(path, "client-%d" % i) for i, c in enumerate(clients))
assert a.acquire(timeout=10)
assert not b.acquire(blocking=False)
try:
    b.acquire(timeout=0.2)
    raise SystemExit("acquired a held lock")
except LockTimeout:
    pass
assert a.contenders() == ["client-0"], a.contenders()

got = threading.Event()
def wait():
    if b.acquire(timeout=20):
        got.set()
waiter = threading.Thread(target=wait)
waiter.start()
while len(a.contenders()) < 2:
    pass
assert not got.is_set()
assert a.contenders() == ["client-0", "client-1"], a.contenders()
a.release()
waiter.join()
assert got.is_set()
b.release()
assert clients[0].get_children(path) == []

with clients[0].ReadLock(path, "r1"), clients[1].ReadLock(path, "r2"):
    assert not clients[0].WriteLock(path, "w").acquire(blocking=False)
s = clients[0].Semaphore(path + "-sem", "s", max_leases=2)
assert s.acquire(timeout=10)
assert s.lease_holders() == ["s"], s.lease_holders()
s.release()

t = clients[0].transaction()
t.create(path + "/tx", b"1")
t.check(path, version=12345)
print([type(r).__name__ for r in t.commit()])
for c in clients:
    c.stop()
    c.close()
print("done")
`

func TestKazoo(t *testing.T) {
	t.Parallel()
	python := servertest.RequirePython(t, "kazoo")
	servertest.EachZooKeeper(t, func(t *testing.T, zk *servertest.ZooKeeper) {
		out, err := exec.CommandContext(t.Context(), python, "-c", kazooScript, zk.Addr, servertest.UniquePath(t)).CombinedOutput()
		if err != nil || !strings.HasSuffix(string(out), "['RolledBackError', 'BadVersionError']\ndone\n") {
			t.Errorf("%v:\n%s", err, out)
		}
	})
}
