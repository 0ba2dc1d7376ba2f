package servertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// StartZooKeeperEnsemble starts that many real servers that are one ensemble, for one test, which may do to them what it
// likes. They are stopped when the test ends.
func StartZooKeeperEnsemble(t testing.TB, members int) []*ZooKeeper {
	t.Helper()
	check(t, zookeeperInstalled())
	ports := make([]int, 4*members) // of each: for clients, its AdminServer, the others, elections
	for i := range ports {
		port, err := freePort()
		check(t, err)
		ports[i] = port
	}
	var lines strings.Builder
	lines.WriteString("initLimit=20\nsyncLimit=10\n")
	for i := range members {
		fmt.Fprintf(&lines, "server.%d=127.0.0.1:%d:%d\n", i+1, ports[4*i+2], ports[4*i+3])
	}
	servers := make([]*ZooKeeper, members)
	for i := range members {
		dir := t.TempDir()
		data := filepath.Join(dir, "data")
		check(t, os.Mkdir(data, 0o700))
		check(t, os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(i+1)), 0o600))
		check(t, configure(dir, ports[4*i], ports[4*i+1], lines.String()))
		proc, err := startJVM(dir)
		check(t, err)
		servers[i] = &ZooKeeper{
			Addr: loopback(ports[4*i]), Admin: "http://" + loopback(ports[4*i+1]), Real: true, dir: dir, proc: proc,
		}
		t.Cleanup(servers[i].end)
	}
	for _, zk := range servers { // none serves before most are there
		check(t, zk.proc.awaitReady(func() error { return portIsOf(zk.dir, zk.Addr) }))
		check(t, zk.proc.awaitReady(func() error { return adminIsOf(zk.dir, zk.Admin) }))
	}
	return servers
}
