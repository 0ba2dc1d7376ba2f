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
	masters := make([]*Redis, n)
	buses := make([]int, n)
	for i := range masters {
		bus, err := freePort()
		check(t, err)
		buses[i] = bus
		masters[i] = StartRedis(t, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", "2000")
	}
	const slots = 16384
	for i, m := range masters {
		m.say(t, "CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/n), strconv.Itoa((i+1)*slots/n-1))
		if i > 0 {
			host, port, err := net.SplitHostPort(masters[0].Addr)
			check(t, err)
			m.say(t, "CLUSTER", "MEET", host, port, strconv.Itoa(buses[0]))
		}
	}
	for _, m := range masters {
		m.await(t, "the cluster is whole", func() bool {
			info := m.say(t, "CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d", n))
		})
	}
	return masters
}

// StartRedisSentinel starts a real master, a replica of it and one sentinel that fails over by itself (quorum 1) when the
// master does not answer for a second. They are stopped when the test ends.
func StartRedisSentinel(t testing.TB) (sentinel string, master, replica *Redis) {
	t.Helper()
	master = StartRedis(t)
	host, port, err := net.SplitHostPort(master.Addr)
	check(t, err)
	replica = StartRedis(t, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	replica.await(t, "the replica follows", func() bool { return strings.Contains(replica.say(t, "INFO", "replication"), "master_link_status:up") })

	dir := t.TempDir()
	at, err := freePort()
	check(t, err)
	config := strings.Join([]string{
		"port " + strconv.Itoa(at), "bind 127.0.0.1", "dir " + dir,
		fmt.Sprintf("sentinel monitor %s %s %s 1", SentinelMaster, host, port),
		"sentinel down-after-milliseconds " + SentinelMaster + " 1000",
		"sentinel failover-timeout " + SentinelMaster + " 3000",
	}, "\n")
	file := filepath.Join(dir, "sentinel.conf")
	check(t, os.WriteFile(file, []byte(config+"\n"), 0o600))
	proc, err := startProcess(dir, "redis-server", file, "--sentinel")
	check(t, err)
	t.Cleanup(proc.kill)
	s := &Redis{Addr: loopback(at), Real: true}
	check(t, proc.awaitReady(func() error { return redisIs(proc.cmd.Process.Pid, s.Addr) }))
	s.await(t, "the sentinel knows the replica", func() bool {
		return strings.Contains(s.say(t, "INFO", "sentinel"), "status=ok,address="+master.Addr+",slaves=1")
	})
	return s.Addr, master, replica
}

// await polls until ok says so.
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
	conn, err := net.DialTimeout("tcp", r.Addr, time.Second)
	check(t, err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(stopTimeout))
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
