package bench

import (
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	zkwire "lockscope/internal/connect"
)

// tapped is a connection that sends many reads in one request.
type tapped struct {
	*zk.Conn
	tap *zkwire.Tap
}

func tap(b testing.TB, addr string) tapped {
	b.Helper()
	t := tapped{tap: &zkwire.Tap{}}
	conn, events, err := zk.Connect([]string{addr}, 40*time.Second, zk.WithDialer(t.tap.Dial), zk.WithHostProvider(new(zkwire.ServerList)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	t.Conn = conn
	return t
}

// bareReads lists all directories, with their Stats, and reads all their children, in requests of 200 reads, four on the way.
func (t tapped) bareReads(b testing.TB, dirs []string) {
	b.Helper()
	lists := make([]zkwire.Read, len(dirs))
	for i, dir := range dirs {
		lists[i] = zkwire.Read{Path: dir, Children: true}
	}
	var nodes []zkwire.Read
	var mu sync.Mutex
	t.readAll(b, lists, func(at int, results []zkwire.ReadResult) {
		mu.Lock()
		defer mu.Unlock()
		for i, res := range results {
			for _, name := range res.Names {
				nodes = append(nodes, zkwire.Read{Path: lists[at+i].Path + "/" + name})
			}
		}
	})
	t.readAll(b, nodes, func(int, []zkwire.ReadResult) {})
}

func (t tapped) readAll(b testing.TB, reads []zkwire.Read, got func(at int, results []zkwire.ReadResult)) {
	b.Helper()
	size := zkwire.MostItems / reads[0].Items()
	batches := make([]string, (len(reads)+size-1)/size)
	pipelined(b, 4, batches, func(i int, _ string) error {
		batch := reads[i*size : min((i+1)*size, len(reads))]
		answered := make(chan error, 1)
		t.tap.Send(t.SessionID(), func(_ int, r zkwire.Reply) {
			results, err := r.Reads(batch, nil)
			got(i*size, results)
			answered <- err
		}, zkwire.MultiRead(batch, nil))
		return <-answered
	})
}
