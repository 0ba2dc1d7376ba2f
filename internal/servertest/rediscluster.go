package servertest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// SentinelMaster is the name under which a StartRedisSentinel sentinel knows its master.
const SentinelMaster = "mymaster"

// StartRedisCluster starts a real cluster of n masters without replicas for one test; every slot is served when it
// returns. They are stopped when the test ends.
func StartRedisCluster(t testing.TB, n int) []*Redis {
	t.Helper()
	masters, _ := startRedisCluster(t, n, 0, nil)
	return masters
}

// StartRedisClusterWithReplicas is StartRedisCluster with a replica of each master, in the same
// order. All replicas follow when it returns.
func StartRedisClusterWithReplicas(t testing.TB, n int) (masters, replicas []*Redis) {
	t.Helper()
	return startRedisCluster(t, n, n, nil)
}

// startRedisCluster starts n masters and replicas of the first ones; more returns further options of each,
// and may be nil.
func startRedisCluster(t testing.TB, n, replicas int, more func() []string) (masters, followers []*Redis) {
	t.Helper()
	nodes := make([]*Redis, n+replicas)
	buses := make([]int, len(nodes))
	for i := range nodes {
		bus, err := freePort()
		check(t, err)
		buses[i] = bus
		args := []string{
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", "2000",
			"--repl-diskless-sync-delay", "0",
		}
		if more != nil {
			args = append(args, more()...)
		}
		nodes[i] = StartRedis(t, args...)
	}
	host, port, err := net.SplitHostPort(nodes[0].Addr)
	check(t, err)
	const slots = 16384
	for i, node := range nodes {
		if i < n {
			node.say(t, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/n), strconv.Itoa((i+1)*slots/n-1))
		}
		if i > 0 {
			node.say(t, "CLUSTER", "MEET", host, port, strconv.Itoa(buses[0]))
		}
	}
	for _, node := range nodes {
		node.await(t, "the cluster is whole", func() bool {
			info := node.say(t, "CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") &&
				strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", len(nodes)))
		})
	}
	for i, replica := range nodes[n:] {
		replica.say(t, "CLUSTER", "REPLICATE", strings.TrimSpace(nodes[i].say(t, "CLUSTER", "MYID")))
		replica.awaitLink(t)
	}
	for _, node := range nodes { // a node does not vote for a replica that it does not know yet
		node.await(t, "every node knows the replicas", func() bool {
			return strings.Count(node.say(t, "CLUSTER", "NODES"), "slave ") == replicas
		})
	}
	return nodes[:n], nodes[n:]
}

// awaitLink waits until a replica follows its master.
func (r *Redis) awaitLink(t testing.TB) {
	t.Helper()
	r.await(t, "the replica follows", func() bool {
		return strings.Contains(r.say(t, "INFO", "replication"), "master_link_status:up")
	})
}

// StartRedisSentinel starts a real master, a replica of it and one sentinel. The sentinel fails
// over (quorum 1) when the master does not answer for a second. All are stopped when the test ends.
func StartRedisSentinel(t testing.TB) (sentinel string, master, replica *Redis) {
	t.Helper()
	sentinels, servers := StartRedisSentinels(t, 1)
	return sentinels[0].Addr, servers[0], servers[1]
}

// StartRedisSentinels starts a real master and a replica of it, in this order, and sentinels that
// know each other. They fail over, by majority, if the master does not answer for a second. A
// sentinel that is restarted remembers what it knew. They are stopped when the test ends.
func StartRedisSentinels(t testing.TB, n int) (sentinels, servers []*Redis) {
	t.Helper()
	master := StartRedis(t, "--repl-diskless-sync-delay", "0")
	host, port, err := net.SplitHostPort(master.Addr)
	check(t, err)
	replica := StartRedis(t, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	replica.awaitLink(t)
	for range n {
		sentinels = append(sentinels, startSentinel(t, host, port, n/2+1))
	}
	for _, s := range sentinels {
		s.awaitMaster(t, master.Addr, n)
	}
	return sentinels, []*Redis{master, replica}
}

// awaitMaster waits until a sentinel knows a master with its replica, and the other sentinels.
func (r *Redis) awaitMaster(t testing.TB, addr string, sentinels int) {
	t.Helper()
	r.await(t, "the sentinel knows the others", func() bool {
		known := fmt.Sprintf("status=ok,address=%s,slaves=1,sentinels=%d", addr, sentinels)
		return strings.Contains(r.say(t, "INFO", "sentinel"), known)
	})
}

// startSentinel starts a sentinel that watches a master; lines are added to its configuration.
func startSentinel(t testing.TB, host, port string, quorum int, lines ...string) *Redis {
	t.Helper()
	dir := t.TempDir()
	at, err := freePort()
	check(t, err)
	config := strings.Join(append([]string{
		"port " + strconv.Itoa(at), "bind 127.0.0.1", "dir " + dir,
		fmt.Sprintf("sentinel monitor %s %s %s %d", SentinelMaster, host, port, quorum),
		"sentinel down-after-milliseconds " + SentinelMaster + " 1000",
		"sentinel failover-timeout " + SentinelMaster + " 3000",
	}, lines...), "\n")
	file := filepath.Join(dir, "sentinel.conf")
	check(t, os.WriteFile(file, []byte(config+"\n"), 0o600))
	s := &Redis{Addr: loopback(at), Real: true}
	s.run = func() (*process, error) {
		proc, err := startProcess(dir, "redis-server", file, "--sentinel")
		if err != nil {
			return nil, err
		}
		return proc, proc.awaitReady(func() error { return redisIs(proc.cmd.Process.Pid, s.Addr) })
	}
	s.proc, err = s.run()
	check(t, err)
	t.Cleanup(s.end)
	return s
}

// await polls until ok returns true.
func (r *Redis) await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(startTimeout); !ok(); time.Sleep(pollEvery) {
		if time.Now().After(deadline) {
			t.Fatalf("servertest: %s: %s: not within %v", r.Addr, what, startTimeout)
		}
	}
}

// say sends one command and returns its reply, a line or a bulk string.
func (r *Redis) say(t testing.TB, words ...string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", r.Addr, time.Minute)
	check(t, err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	_, err = fmt.Fprint(conn, strings.Join(words, " ")+"\r\n")
	check(t, err)
	reader := bufio.NewReader(conn)
	line, err := reader.ReadString('\n')
	check(t, err)
	if strings.HasPrefix(line, "-") {
		t.Fatalf("servertest: %v: %s", words, line)
	}
	size, bulk := strings.CutPrefix(strings.TrimSpace(line), "$")
	if !bulk {
		return line
	}
	n, err := strconv.Atoi(size)
	check(t, err)
	text := make([]byte, max(0, n))
	for read := 0; read < len(text); {
		n, err := reader.Read(text[read:])
		check(t, err)
		read += n
	}
	return string(text)
}
