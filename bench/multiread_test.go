package bench

import (
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/connect"
)

// tapped is a connection that sends many reads in one request.
type tapped struct {
	*zk.Conn
	tap *connect.Tap
}

func tap(b testing.TB, addr string) tapped {
	b.Helper()
	t := tapped{tap: &connect.Tap{}}
	conn, events, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogInfo(false), zk.WithDialer(t.tap.Dial), zk.WithHostProvider(new(connect.ServerList)))
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
	lists := make([]connect.Read, len(dirs))
	for i, dir := range dirs {
		lists[i] = connect.Read{Path: dir, Children: true}
	}
	var nodes []connect.Read
	var mu sync.Mutex
	t.readAll(b, lists, func(at int, results []connect.ReadResult) {
		mu.Lock()
		defer mu.Unlock()
		for i, res := range results {
			for _, name := range res.Names {
				nodes = append(nodes, connect.Read{Path: lists[at+i].Path + "/" + name})
			}
		}
	})
	t.readAll(b, nodes, func(int, []connect.ReadResult) {})
}

func (t tapped) readAll(b testing.TB, reads []connect.Read, got func(at int, results []connect.ReadResult)) {
	b.Helper()
	size := connect.MostItems / reads[0].Items()
	batches := make([]string, (len(reads)+size-1)/size)
	pipelined(b, 4, batches, func(i int, _ string) error {
		batch := reads[i*size : min((i+1)*size, len(reads))]
		answered := make(chan error, 1)
		t.tap.Send(t.SessionID(), func(_ int, r connect.Reply) {
			results, err := r.Reads(batch)
			got(i*size, results)
			answered <- err
		}, connect.MultiRead(batch))
		return <-answered
	})
}
