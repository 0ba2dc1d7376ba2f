package zksource_test

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// shape is a lock as its library writes it: the nodes below its root in the order of their creation.
type shape struct {
	nodes []shapeNode
	// locks are the paths below the root of the locks shown when all nodes are readable.
	locks []string
}

type shapeNode struct {
	path, data string
	flags      int32
}

func queueOf(names ...string) shape {
	s := shape{nodes: []shapeNode{{"/l", "", 0}}, locks: []string{"/l"}}
	for i, name := range names {
		s.nodes = append(s.nodes, shapeNode{"/l/" + name, fmt.Sprintf("client %d", i), contender})
	}
	return s
}

// of sets the data of all contenders.
func (s shape) of(data string) shape {
	for i := range s.nodes[1:] {
		s.nodes[i+1].data = data
	}
	return s
}

// shapes are keyed by recipe and variant. SESSION is the session that creates them.
var shapes = map[string]shape{
	"curator":           queueOf("_c_"+uuid+"-lock-", "_c_"+uuid+"-lock-"),
	"curator rw":        queueOf("_c_"+uuid+"-__READ__", "_c_"+uuid+"-__WRIT__", "_c_"+uuid+"-__READ__"),
	"kazoo":             queueOf(guid+"__lock__", guid2+"__lock__"),
	"go-zookeeper":      queueOf("_c_"+guid+"-lock-", "_c_"+guid2+"-lock-"),
	"zookeeper-recipes": queueOf("x-SESSION-", "x-SESSION-"),
	"zk-ruby":           queueOf("sh", "ex"),
	"hbase":             queueOf("write-rs1:16020", "read-rs2:16020").of("PBUF\n\x07default"),
	"hive":              queueOf("LOCK-EXCLUSIVE-", "LOCK-SHARED-").of("q1:1763720000:IMPLICIT:select 1:10.0.0.9"),
	"hive explicit": {[]shapeNode{
		{"/l", "", 0}, {"/l/LOCK-SHARED-", "q1:1763720000:EXPLICIT:lock table a:10.0.0.9", zk.FlagSequence},
	}, []string{"/l"}},
	"solr":       queueOf("SESSION-core_node1-n_", "SESSION-core_node2-n_"),
	"sequential": queueOf("worker-", "worker-"),
	"madelson":   {[]shapeNode{{"/l", "", 0}, {"/l/read-", "", contender}, {"/l/write-", "", contender}}, []string{"/l"}},
	"madelson semaphore": {[]shapeNode{
		{"/l", "", 0}, {"/l/semaphore-", "ACQUIRED", contender}, {"/l/semaphore-", "", contender},
	}, []string{"/l"}},
	"curator semaphore": {[]shapeNode{
		{"/l", "", 0}, {"/l/leases", "", 0}, {"/l/locks", "", 0},
		{"/l/leases/_c_" + uuid + "-lease-", "a", contender},
		{"/l/locks/_c_" + uuid + "-lock-", "b", contender},
		{"/l/locks/_c_" + uuid + "-lock-", "c", contender},
	}, []string{"/l"}},
	"kazoo semaphore": {[]shapeNode{
		{"/l", "1", 0}, {"/l-__lock__", "", 0}, {"/l/" + guid, "a", zk.FlagEphemeral}, {"/l-__lock__/" + guid2 + "__lock__", "b", contender},
	}, []string{"/l"}},
	"ephemeral": {[]shapeNode{{"/d", "", 0}, {"/d/leader", "a", zk.FlagEphemeral}}, []string{"/d/leader"}},
	"shedlock":  {[]shapeNode{{"/shedlock", "", 0}, {"/shedlock/job", "2099-01-01T00:00:00Z", 0}}, []string{"/shedlock/job"}},
	"helix": {[]shapeNode{
		{"/c", "", 0}, {"/c/LOCK", "", 0}, {"/c/LOCK/RESOURCE", "", 0},
		{"/c/LOCK/RESOURCE/db", `{"id":"LOCK","simpleFields":{"OWNER":"a","TIMEOUT":"4070908800000"}}`, 0},
	}, []string{"/c/LOCK/RESOURCE/db"}},
}

// unreadable is an ACL that permits everything except reading.
var unreadable = []zk.ACL{{Perms: zk.PermAll &^ zk.PermRead, Scheme: "world", ID: "anyone"}}

// Each node of a lock is made unreadable, alone and in pairs. No lock disappears or becomes free, no
// waiter disappears, and the missing right is named.
func TestUnreadableNodesAreUnknown(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inDirectory(t, zks)
			nodes := []string{""}
			for _, n := range shape.nodes {
				path := strings.ReplaceAll(n.path, "SESSION", fmt.Sprint(s.conn.SessionID()))
				nodes = append(nodes, strings.TrimPrefix(s.create(path, n.data, n.flags), s.root))
			}
			whole := view{s.once()}
			for _, p := range shape.locks {
				l := whole.Locks[s.root+p]
				if l == nil || l.Unseen != nil {
					t.Fatalf("%s: %v", p, whole.Describe())
				}
				library, _, _ := strings.Cut(name, " ")
				must.Equal(t, l.Recipe, library, name)
			}
			if len(whole.Locks) != len(shape.locks) || whole.Backend.Unseen != nil {
				t.Fatalf("%v, unseen %v", whole.Describe(), whole.Backend.Unseen)
			}
			for i, first := range nodes {
				for _, second := range nodes[i:] {
					t.Run(path.Base(s.root+first)+" "+path.Base(s.root+second), func(t *testing.T) {
						for _, unlimited := range []bool{false, true} {
							if unlimited && first != second {
								continue // an unlimited read walks differently, tested on single nodes
							}
							s.allow(first, unreadable)
							s.allow(second, unreadable)
							cfg := s.cfg
							cfg.Budget.Unlimited = unlimited
							v := view{once(t, cfg)}
							s.allow(first, everyone)
							s.allow(second, everyone)
							v.compare(t, whole, zks.Addr, s.root+first, s.root+second)
						}
					})
				}
			}
		})
	}
}

// view is what a source shows.
type view struct{ *sourcetest.View }

// compare expects the same report as with full rights, except for unknown facts.
func (v view) compare(t *testing.T, whole view, addr string, denied ...string) {
	t.Helper()
	named := func(list []inspect.Unseen) {
		for _, u := range list {
			node, right := strings.CutPrefix(u.Right, "READ on ")
			if !right || !slices.Contains(denied, node) || u.Where != addr || u.Reason == "" || !strings.HasSuffix(u.Read, " "+node) {
				t.Errorf("without %v, wrong unseen %+v", denied, u)
			}
		}
	}
	named(v.Backend.Unseen)
	for p, was := range whole.Locks {
		l := v.Locks[p]
		if l == nil {
			hidden := slices.ContainsFunc(v.Backend.Unseen, func(u inspect.Unseen) bool {
				_, node, _ := strings.Cut(u.Read, " ")
				return u.Aspect == inspect.AspectLocks && strings.HasPrefix(p+"/", node+"/")
			})
			must.True(t, hidden, p, "disappeared; unseen", v.Backend.Unseen)
			continue
		}
		named(l.Unseen)
		compareLock(t, was, l)
	}
	for p, l := range v.Locks {
		must.True(t, whole.Locks[p] != nil, p, "is not a lock", l)
	}
}

func compareLock(t *testing.T, was, l *inspect.Lock) {
	t.Helper()
	if l.State != was.State && !(l.State == inspect.StateUnknown && l.Unknown(inspect.AspectHolders)) &&
		!(l.State == inspect.StateHeld && l.Unknown(inspect.AspectWaiters)) {
		t.Errorf("%s, was %s; unseen %+v", l.State, was.State, l.Unseen)
	}
	compareContenders(t, was.Holders, l.Holders, l.Unknown(inspect.AspectHolders), l.Unknown(inspect.AspectOwner))
	compareContenders(t, was.Waiters, l.Waiters, l.Unknown(inspect.AspectWaiters), l.Unknown(inspect.AspectOwner))
	if (l.Kind != was.Kind || l.Recipe != was.Recipe || l.Limit != was.Limit) && !l.Unknown(inspect.AspectKind) && !l.Unknown(inspect.AspectHolders) {
		t.Errorf("%s %s of %d, was %s %s of %d", l.Recipe, l.Kind, l.Limit, was.Recipe, was.Kind, was.Limit)
	}
}

// compareContenders expects the same contenders, sessions and ages, unless all are unknown.
func compareContenders(t *testing.T, was, is []inspect.Contender, unknown, unlabelled bool) {
	t.Helper()
	if unknown && len(is) == 0 {
		return
	}
	if len(is) != len(was) {
		t.Errorf("%d contenders, were %d", len(is), len(was))
		return
	}
	for i := range is {
		a, b := was[i], is[i]
		if b.Owner.Label == "" && unlabelled {
			a.Owner.Label = ""
		}
		if a.Name != b.Name || a.Owner.Session != b.Owner.Session || !a.Since.Equal(b.Since) || a.Owner.Label != b.Owner.Label || a.State != b.State {
			t.Errorf("%+v, was %+v", b, a)
		}
	}
}

func TestUnreadableSymfonyLockIsNotHidden(t *testing.T) {
	t.Parallel()
	s := onServer(t, servertest.StartZooKeeper(t))
	token := base64.StdEncoding.EncodeToString(make([]byte, 32))
	s.create("/one", token, zk.FlagEphemeral)
	s.create("/two", token, zk.FlagEphemeral)
	s.allow("/one", unreadable)
	v := s.once()
	unseen := slices.ContainsFunc(v.Backend.Unseen, func(u inspect.Unseen) bool {
		return u.Aspect == inspect.AspectLocks && u.Right == "READ on /one"
	})
	if v.Locks["/two"] == nil || v.Locks["/one"] == nil && !unseen {
		t.Errorf("%v, unseen %+v", v.Describe(), v.Backend.Unseen)
	}
}

func TestMissingRootIsReportedUnseen(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		root, absent := s.root, s.root+"x"
		for name, tt := range map[string]struct {
			cfg  zksource.Config
			read string
		}{
			"root":                {zksource.Config{Roots: []string{root, absent}}, "exists " + absent},
			"root below a chroot": {zksource.Config{Chroot: root, Roots: []string{"/x"}}, "exists " + root + "/x"},
			"chroot":              {zksource.Config{Chroot: absent}, "exists " + absent},
			"chroot of a root":    {zksource.Config{Chroot: absent, Roots: []string{"/a", "/b"}}, "exists " + absent},
			"chroot of one lock":  {zksource.Config{Chroot: absent, Only: "/l"}, "exists " + absent},
			"a missing lock":      {zksource.Config{Only: root + "/l"}, ""},
			"nothing missing":     {zksource.Config{Roots: []string{root}}, ""},
		} {
			tt.cfg.Servers = s.cfg.Servers
			b := once(t, tt.cfg).Backend
			var reads []string
			for _, u := range b.Unseen {
				if u.Aspect == inspect.AspectLocks && u.Where == s.zks.Addr && u.Right == "" {
					reads = append(reads, u.Read)
				}
			}
			must.Equal(t, strings.Join(reads, ","), tt.read, name, b.Unseen)
			must.Equal(t, b.State, inspect.Connected, name)
		}
	})
}
