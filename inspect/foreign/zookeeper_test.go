package foreign

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestZooKeeperPrograms(t *testing.T) {
	server := servertest.StartZooKeeper(t)
	for _, p := range programs(t, "zookeeper") {
		t.Run(p.file, func(t *testing.T) {
			sessions := replayTree(t, server, load(t, p))
			defer func() {
				for _, s := range sessions {
					s.Close()
				}
			}()
			config := zksource.Config{Backend: "zk", Servers: []string{server.Addr}, Admin: []string{server.Admin}, Budget: zksource.Budget{Unlimited: true}}
			watched := zksource.New(config)
			config.Once = true
			judge(t, p, "once", once(t, zksource.New(config)))
			judge(t, p, "watched", watch(t, watched))
			clear(t, sessions[0])
		})
	}
}

// replayTree recreates a recorded tree and its watches. Nodes are created in their original order
// and with their original numbers, by a session of their own if they had one. The first session
// owns nothing.
func replayTree(t *testing.T, server *servertest.ZooKeeper, entries []entry) []*zk.Conn {
	t.Helper()
	var sessions []*zk.Conn
	session := func(word string) *zk.Conn {
		i, _ := strconv.Atoi(word)
		for len(sessions) <= i {
			c, _, err := zk.Connect([]string{server.Addr}, 20*time.Second, zk.WithLogInfo(false))
			must.Succeed(t, err)
			sessions = append(sessions, c)
		}
		return sessions[i]
	}
	operator := session("0")
	made := map[string]int{} // children made in a directory
	count := map[string]int{}
	for _, e := range entries {
		if e.kind == "node" {
			count[e.fields[0]], _ = strconv.Atoi(e.fields[2])
		}
	}
	fill := func(dir string, upTo int) {
		for ; made[dir] < upTo; made[dir]++ {
			made, err := operator.Create(dir+"/filler-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
			if err == nil {
				err = operator.Delete(made, -1)
			}
			if err != nil {
				t.Fatalf("%s: %v", dir, err)
			}
		}
	}
	for _, e := range entries {
		path := e.fields[0]
		dir := path[:strings.LastIndex(path, "/")]
		switch e.kind {
		case "node":
			if n, ok := sequence(path); ok && n <= count[dir] {
				fill(dir, n)
			}
			flags := int32(0)
			if e.fields[1] != "0" && e.fields[1] != "container" {
				flags = zk.FlagEphemeral
			}
			owner := operator
			if flags != 0 {
				owner = session(e.fields[1])
			}
			if _, err := owner.Create(path, []byte(e.fields[3]), flags, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatalf("%s: %v", e, err)
			}
			made[dir]++
		case "watch":
			if _, _, _, err := session(e.fields[1]).ExistsW(path); err != nil {
				t.Fatalf("%s: %v", e, err)
			}
		default:
			t.Fatalf("unknown kind of entry: %s", e)
		}
	}
	for dir, n := range count {
		fill(dir, n)
	}
	return sessions
}

// sequence reads the number that a server added to a name.
func sequence(name string) (int, bool) {
	if len(name) < 10 {
		return 0, false
	}
	n, err := strconv.Atoi(name[len(name)-10:])
	return n, err == nil && n >= 0
}

// paths lists everything below a directory, parents first, without the server's own nodes.
func paths(t *testing.T, c *zk.Conn, dir string) (all []string) {
	t.Helper()
	children, _, err := c.Children(dir)
	must.Succeed(t, err)
	for _, child := range children {
		if path := strings.TrimSuffix(dir, "/") + "/" + child; path != "/zookeeper" {
			all = append(append(all, path), paths(t, c, path)...)
		}
	}
	return all
}

func clear(t *testing.T, c *zk.Conn) {
	t.Helper()
	for _, path := range slices.Backward(paths(t, c, "/")) {
		if err := c.Delete(path, -1); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// recordZooKeeper reads a server's tree and watches.
func recordZooKeeper(t *testing.T, server *servertest.ZooKeeper) (entries []entry) {
	c := servertest.ConnectZooKeeper(t, server.Addr, 10*time.Second)
	type node struct {
		path string
		data []byte
		stat *zk.Stat
	}
	var nodes []node
	for _, path := range paths(t, c, "/") {
		data, stat, err := c.Get(path)
		must.Succeed(t, err)
		nodes = append(nodes, node{path, data, stat})
	}
	slices.SortFunc(nodes, func(a, b node) int { return int(a.stat.Czxid - b.stat.Czxid) })
	const container = -1 << 63
	number := map[int64]int{}
	owner := func(id int64) string {
		switch id {
		case 0:
			return "0"
		case container:
			return "container"
		}
		if _, known := number[id]; !known {
			number[id] = len(number) + 1
		}
		return strconv.Itoa(number[id])
	}
	for _, n := range nodes {
		created := (int(n.stat.Cversion) + int(n.stat.NumChildren)) / 2
		entries = append(entries, entry{"node", []string{n.path, owner(n.stat.EphemeralOwner), strconv.Itoa(created), string(n.data)}})
	}
	watches := watchesOf(t, server)
	for _, n := range nodes {
		for _, id := range watches[n.path] {
			entries = append(entries, entry{"watch", []string{n.path, owner(id)}})
		}
	}
	return entries
}

// watchesOf reads which sessions watch which paths.
func watchesOf(t *testing.T, server *servertest.ZooKeeper) map[string][]int64 {
	resp := must.Have(http.Get(server.Admin + "/commands/watches_by_path"))(t)
	defer resp.Body.Close()
	var table struct {
		Paths map[string][]int64 `json:"path_to_session_ids"`
	}
	must.Succeed(t, json.NewDecoder(resp.Body).Decode(&table))
	return table.Paths
}
