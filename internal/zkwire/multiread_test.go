package zkwire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/jute"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// A multiRead returns the same as single reads, with an error only for nodes that are missing or
// unreadable.
func TestMultiReadMatchesSingleReads(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := through(t, &Tap{}, 10*time.Second, zks.Addr), servertest.UniquePath(t)
		c.create(root, nil, zk.WorldACL(zk.PermAll))
		for i := range 40 {
			c.create(fmt.Sprintf("%s/n%02d", root, i), bytes.Repeat([]byte{'x'}, i*100), zk.WorldACL(zk.PermAll))
		}
		reads := []Read{{Path: root, Children: true}, {Path: root + "/none"}, {Path: root + "/none", Children: true}}
		for i := range 40 {
			reads = append(reads, Read{Path: fmt.Sprintf("%s/n%02d", root, i), Children: i%2 == 0})
		}
		c.create(root+"/shut", []byte("secret"), []zk.ACL{{Perms: zk.PermAll &^ zk.PermRead, Scheme: "world", ID: "anyone"}})
		reads = append(reads, Read{Path: root + "/shut", Children: true}, Read{Path: root + "/shut"})
		results, err := c.send(MultiRead(reads, nil))[0].Reads(reads, nil)
		if err != nil || len(results) != len(reads) {
			t.Fatal(len(results), err)
		}
		for i, r := range reads {
			got := results[i]
			data, stat, err := c.Get(r.Path)
			must.Be(t, got.Err, err, r.Path)
			if err != nil {
				continue
			}
			must.Same(t, got.Data, data, r.Path)
			must.Equal(t, got.Stat, *stat, r.Path)
			names, _, err := c.Children(r.Path)
			must.Succeed(t, err)
			slices.Sort(names)
			slices.Sort(got.Names)
			if r.Children {
				must.Same(t, got.Names, names, r.Path)
			}
		}
	})
}

// One recursive watch reports all changes below a node, repeatedly, even while the node does not
// exist.
func TestWatchBelowReportsAllChanges(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := through(t, &Tap{}, 10*time.Second, zks.Addr), servertest.UniquePath(t)
		must.Succeed(t, c.send(WatchBelow(root))[0].Err)
		expect := func(what zk.EventType, path string) {
			t.Helper()
			c.awaitEvent(what.String()+" "+path, func(e zk.Event) bool { return e.Type == what && e.Path == path })
		}
		for range 2 {
			for _, p := range []string{root, root + "/a", root + "/a/b"} {
				c.create(p, nil, zk.WorldACL(zk.PermAll))
				expect(zk.EventNodeCreated, p)
				must.Have(c.Set(p, []byte("x"), -1))(t)
				expect(zk.EventNodeDataChanged, p)
			}
			for _, p := range []string{root + "/a/b", root + "/a", root} {
				must.Succeed(t, c.Delete(p, -1))
				expect(zk.EventNodeDeleted, p)
			}
		}
	})
}

// A server before 3.6 answers that both requests are unimplemented, and closes the connection.
func TestOldServerRefusesNewRequests(t *testing.T) {
	t.Parallel()
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{WithoutMultiRead: true, WithoutAddWatch: true})
	for _, r := range []Request{MultiRead([]Read{{Path: "/"}}, nil), WatchBelow("/")} {
		c := through(t, &Tap{}, 10*time.Second, zks.Addr)
		must.Be(t, c.send(r)[0].Err, ErrUnimplemented, "operation", r.Op)
		c.await(zk.StateDisconnected)
	}
}

// An answer that is too long fails only its request, and a smaller request is answered.
func TestOversizedReadsAreSplit(t *testing.T) {
	t.Parallel()
	zks := servertest.StartZooKeeper(t)
	c := through(t, &Tap{}, 10*time.Second, zks.Addr)
	var reads []Read
	for i := range 8 {
		p := fmt.Sprintf("/big%d", i)
		c.create(p, make([]byte, 1_000_000), zk.WorldACL(zk.PermAll))
		reads = append(reads, Read{Path: p})
	}
	var size ReadSize
	var asked []int
	for left := reads; len(left) > 0; {
		n := min(len(left), size.Items())
		asked = append(asked, n)
		reply := c.send(MultiRead(left[:n], nil))[0]
		switch _, err := reply.Reads(left[:n], nil); {
		case errors.Is(err, ErrTooLong):
			size.Broke(n)
		case err != nil:
			t.Fatal(err)
		default:
			size.Answered(n, len(reply.Body))
			left = left[n:]
		}
	}
	must.True(t, asked[0] == 8 && slices.Max(asked[1:]) <= 4, "requested", asked)
}

func TestReadSizeLearns(t *testing.T) {
	t.Parallel()
	var s ReadSize
	first := s.Items()
	for range 10 {
		s.Answered(s.Items(), s.Items()*300)
	}
	must.True(t, first < MostItems, first, "at first")
	must.Equal(t, s.Items(), MostItems, "after short answers")
	s.Answered(s.Items(), s.Items()*100_000)
	must.Equal(t, s.Items(), 10, "after 100,000 bytes each")
	s.Broke(10)
	for range 10 {
		s.Answered(s.Items(), s.Items())
	}
	must.Equal(t, s.Items(), 5, "after 10 were too many")
	for range 10 {
		s.Broke(s.Items())
	}
	must.Equal(t, s.Items(), 1, "after everything was too much")
}

// A read is torn if the number of children in its Stat differs from the number of names.
func TestTornReadsAreReported(t *testing.T) {
	t.Parallel()
	reads := []Read{{Path: "/a", Children: true}}
	for children, want := range map[byte]error{1: nil, 2: ErrTorn} {
		stat := make([]byte, 68)
		stat[59] = children
		data := item(opGetData, slices.Concat(words(0), stat))
		names := item(opGetChildren, jute.AppendString(words(1), "only"))
		results, err := Reply{Body: slices.Concat(data, names, lastItem)}.Reads(reads, nil)
		must.Succeed(t, err)
		must.Be(t, results[0].Err, want, children, "children and one name")
	}
}

// Whatever a server sends, parsing does not panic, and each read has one result.
func FuzzMultiReadReply(f *testing.F) {
	reads := []Read{{Path: "/a"}, {Path: "/b", Children: true}, {Path: "/c"}}
	f.Add([]byte{})
	f.Add([]byte("\x00\x00\x00\x04\x00\xff\xff\xff\xff\x00\x00\x00\x01x"))
	f.Add([]byte("\xff\xff\xff\xff\x00\xff\xff\xff\x9b\xff\xff\xff\x9b\xff\xff\xff\xff\x00\xff\xff\xff\x9b\xff\xff\xff\x9b"))
	f.Fuzz(func(t *testing.T, body []byte) {
		for n := range len(reads) + 1 {
			results, err := Reply{Body: body}.Reads(reads[:n], nil)
			if err == nil && len(results) != n {
				t.Errorf("%d results of %d reads", len(results), n)
			}
		}
	})
}
