package inspect

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// What begins the names of kazoo's and Curator's nodes.
const (
	guid      = "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718"
	curatorID = "_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-"
)

// node is a node that this session created now.
func node(name string, session int64) Znode {
	return Znode{Name: name, Known: true, EphemeralOwner: session, Czxid: session, Created: now}
}

// children parses nodes like NAME, NAME/SESSION, NAME/SESSION@CZXID, and any of these with =DATA. NAME/? was only
// listed. #7 is a number of ten digits, and KAZOO and CURATOR- are the libraries' prefixes.
func children(t *testing.T, words string) (nodes []Znode) {
	t.Helper()
	words = strings.NewReplacer("KAZOO", guid, "CURATOR-", curatorID).Replace(words)
	for _, word := range strings.Fields(words) {
		name, owner, _ := strings.Cut(word, "/")
		owner, data, hasData := strings.Cut(owner, "=")
		owner, czxid, dated := strings.Cut(owner, "@")
		if prefix, number, numbered := strings.Cut(name, "#"); numbered {
			name = fmt.Sprintf("%s%010s", prefix, number)
		}
		if owner == "?" {
			nodes = append(nodes, Znode{Name: name})
			continue
		}
		z := node(name, numberOf(t, cmp.Or(owner, "0")))
		if dated {
			z.Czxid = numberOf(t, czxid)
		}
		if hasData {
			z.Data = []byte(data)
		}
		nodes = append(nodes, z)
	}
	return nodes
}

// directoryLock is the lock of a directory, or nil.
func directoryLock(id ID, children []Znode, readAt time.Time) *Lock {
	l, _ := Directory{Children: children}.Lock(id, readAt)
	return l
}

// outline writes a lock as its library, kind, state and certainty, with the labels or sessions of its holders and
// waiters.
func outline(l *Lock) string {
	if l == nil {
		return "none"
	}
	words := []string{l.Recipe, string(l.Kind)}
	if l.KindConfidence != "" {
		words = append(words, "("+string(l.KindConfidence)+")")
	}
	words = append(words, string(l.State), string(l.Confidence)+":")
	for c := range l.Contenders {
		if len(l.Waiters) > 0 && c == &l.Waiters[0] {
			words = append(words, "<")
		}
		words = append(words, cmp.Or(c.Owner.Label.Raw(), strconv.FormatInt(c.Owner.Session, 10)))
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

func TestDirectoriesOfLocks(t *testing.T) {
	for _, s := range sections(t, "testdata/directories.txt")[1:] {
		lines := strings.Split(strings.TrimSpace(s.text), "\n")
		path, nodes, _ := strings.Cut(lines[0], ": ")
		must.Equal(t, outline(directoryLock(ID{"zk", path}, children(t, nodes), now)), lines[1], s.title)
	}
}

// The server gave no number that is above the count of creations (0: unknown), or that is out of the order of
// creation. Such nodes are no lock, unless only one library writes such names.
func TestNumbersThatNoServerGave(t *testing.T) {
	for _, tt := range []struct {
		nodes   string
		created int64
		want    string
	}{
		{"web-#8080/1", 0, "sequential mutex held possible: 1"},
		{"web-#8080/1", 8081, "sequential mutex held possible: 1"},
		{"web-#8080/1", 8080, "none"},
		{"web-#8080/1 web-#1/2@3", 2, "none"}, // other nodes with this prefix are no contenders, either
		{"KAZOO__lock__#8080/1", 2, "kazoo mutex held certain: 1"},
		{"web--2147483648/1", 1 << 31, "sequential mutex held possible: 1"},
		{"web--2147483648/1", 1<<31 - 1, "none"},
		{"web-#1/5@5 web-#2/4@4", 0, "none"},                                       // the later number was created first
		{"web-#1/5@5 api-#1/4@4", 0, "sequential mutex contended possible: 4 < 5"}, // equal numbers have no order
	} {
		l, _ := Directory{Children: children(t, tt.nodes), Created: tt.created}.Lock(ID{"zk", "/l"}, now)
		must.Equal(t, outline(l), tt.want, tt.nodes, "of", tt.created)
	}
}

func TestWaitersFollowEachOther(t *testing.T) {
	l := lockOf(t, "KAZOO__lock__#0/10 KAZOO__lock__#1/11 KAZOO__lock__#2/12")
	must.Equal(t, l.Holders[0].BlockedBelow, 2, "blocked by the holder")
	for i, w := range l.Waiters {
		must.Equal(t, w.Watches.Raw(), fmt.Sprintf("%s__lock__%010d", guid, i), "watched by waiter", i)
		must.Equal(t, int(w.BlockedBelow), 1-i, "blocked by waiter", i)
	}
}

// A directory at the largest sequence number repeats it, so these nodes are ordered by czxid.
func TestEqualNumbersGoByCzxid(t *testing.T) {
	l := lockOf(t, "KAZOO__lock__#2147483647/12 f"+guid[1:]+"__lock__#2147483647/10 KAZOO__lock__#2147483646/11")
	must.Equal(t, outline(l), "kazoo mutex contended certain: 11 < 10 12")
}

func TestOtherChildrenAreNamed(t *testing.T) {
	nodes := children(t, "KAZOO__lock__#0/10 CURATOR-lock-#1/11 KAZOO__lock__#2 item-#3")
	for i := range 20 {
		nodes = append(nodes, node(fmt.Sprintf("note-%02d", i), 0))
	}
	l := directoryLock(ID{"zk", "/l"}, nodes, now)
	must.Equal(t, len(l.Aliens), 16)
	must.Same(t, []Untrusted{l.Aliens[0], l.Aliens[15]}, []Untrusted{"item-0000000003", "note-14"}, "first and last")
	must.Equal(t, outline(l), "kazoo mutex contended certain: 10 < 11 0")
	must.Equal(t, l.Holders[0].Recipe+l.Waiters[0].Recipe, "curator", "the only other recipe")
	must.True(t, !l.Waiters[0].Persistent && l.Waiters[1].Persistent, "persistent", l.Waiters)
}

// Sequential nodes of different sessions may be a registry of services. Only a session's watch on
// another's node shows that it queues.
func TestUnwatchedSequentialNodesStayUnconfirmed(t *testing.T) {
	const first, second = "/services/s-0000000000", "/services/s-0000000001"
	unknown := []Confirmation{Unconfirmed, Unconfirmed}
	read := func(at time.Duration) *Lock {
		return directoryLock(ID{"zk", "/services"}, children(t, "s-#0/1 s-#1/2 s-#2/3"), now.Add(at))
	}
	for _, tt := range []struct {
		name  string
		table map[string][]int64
		want  []Confirmation
	}{
		{"no watches", nil, unknown},
		{"a stranger watches", map[string][]int64{first: {99}, "/services": {1}}, unknown},
		{"a node watches itself", map[string][]int64{second: {2}}, unknown},
		{"the second watches the first", map[string][]int64{first: {2}}, []Confirmation{Confirmed, Missing}},
	} {
		before, after := read(0), read(2*time.Second)
		confirmWatches(before, &WatchTable{Backend: "zk", ReadAt: now.Add(time.Second), Sessions: tt.table})
		carry(before, after, 0, false)
		must.Same(t, watchesOf(after), tt.want, tt.name)
	}
}

// A client that writes also reads at once, unless its reader turns out to be another thread that waits for its writer.
func TestReadersOfTheWriterMayWait(t *testing.T) {
	l := lockOf(t, "CURATOR-__WRIT__#1/7@1 CURATOR-__READ__#2/7@2 CURATOR-__READ__#3/7@3")
	must.Equal(t, outline(l), "curator rw held certain: 7 7 7")
	must.True(t, l.Watched(), "a reader that may wait is not looked for in tables of watches")
	writer := l.Node(&l.Holders[0])
	waits := &WatchTable{Backend: "zk", ReadAt: now.Add(WatchSettle), Sessions: map[string][]int64{writer: {7}}}
	confirmWatches(l, &WatchTable{Backend: "zk", ReadAt: waits.ReadAt})
	must.Equal(t, l.State, StateHeld, "without watches")
	confirmWatches(l, waits)
	must.Equal(t, outline(l), "curator rw contended certain: 7 < 7 7")
	must.Equal(t, l.Holders[0].BlockedBelow, 2, "blocked by the writer")
	must.Equal(t, l.Predecessor(&l.Waiters[1]), writer, "watched by the last reader")
}

func FuzzDirectory(f *testing.F) {
	f.Add(guid, "1", "_c_0c4f1b2e-9d8a-4f6f-b1f0-a7c3d5e60718-lease-0000000000", "lock--2147483648", int64(1), int64(2))
	f.Fuzz(func(t *testing.T, a, data, b, c string, one, two int64) {
		children := []Znode{node(a, one), node(b, two), {Name: c}}
		parts := map[string][]Znode{"leases": {node(b, two), node(c, one)}, "locks": {node(c, one)}, "../l-__lock__": {node(a, one)}}
		for _, d := range []Directory{{Children: children}, {Children: children, Data: []byte(data), Parts: parts}, {Data: []byte(data), Parts: parts}} {
			if l, _ := d.Lock(ID{"zk", "/l"}, now); l != nil && (l.Contention() == 0) != (l.State == StateFree || l.State == StateUnknown) {
				t.Errorf("%+v", l)
			}
		}
		NodeLock(ID{"zk", "/" + a}, node(b, one), true, now)
	})
}
