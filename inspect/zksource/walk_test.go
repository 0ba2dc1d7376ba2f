package zksource

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

const guid = "0123456789abcdef0123456789abcdef"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// testRun is a run without a connection. The test supplies the results.
func testRun(t *testing.T, cfg Config) *run {
	cfg.Backend, cfg.Servers = "zk", []string{"127.0.0.1:1"}
	r := New(cfg).newRun(t.Context(), func(inspect.Update) {})
	r.tree.AddRoots()
	return r
}

// tableServer is an AdminServer with an empty watch table. It calls meanwhile during the read.
func tableServer(t *testing.T, meanwhile func()) *httptest.Server {
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/commands/watch_summary":
			fmt.Fprint(w, `{"num_total_watches": 0, "error": null}`)
		case "/commands/watches_by_path":
			meanwhile()
			fmt.Fprint(w, `{"path_to_session_ids": {}, "error": null}`)
		default:
			http.NotFound(w, req)
		}
	}))
	t.Cleanup(admin.Close)
	return admin
}

// running runs a source until the test ends, and returns its updates.
func running(t *testing.T, s *Source) <-chan inspect.Update {
	updates := make(chan inspect.Update, 1000)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s.Run(ctx, func(u inspect.Update) { updates <- u })
		close(updates)
	}()
	t.Cleanup(func() {
		cancel()
		for range updates { // until the source has ended
		}
	})
	return updates
}

func TestLocksAreRelistedAfterWatchTable(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		t.Run(fmt.Sprintf("once %v", once), func(t *testing.T) {
			zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
			c := servertest.ConnectZooKeeper(t, zks.Addr, 10*time.Second)
			create := func(p string, flags int32) string {
				return must.Have(c.Create(p, nil, flags, zk.WorldACL(zk.PermAll)))(t)
			}
			create("/l", 0)
			holder := create("/l/"+guid+"__lock__", zk.FlagEphemeral|zk.FlagSequence)
			create("/l/"+guid+"__lock__", zk.FlagEphemeral|zk.FlagSequence)
			create("/same", 0)
			create("/same/"+guid+"__lock__", zk.FlagEphemeral|zk.FlagSequence)
			create("/same/"+guid+"__lock__", zk.FlagEphemeral|zk.FlagSequence)
			admin := tableServer(t, func() { c.Delete(holder, -1) }) // the holder leaves during the read
			s := New(Config{Backend: "zk", Servers: []string{zks.Addr}, Admin: []string{admin.URL}, Once: once})
			updates := running(t, s)
			before, after := map[string]*inspect.Lock{}, map[string]*inspect.Lock{}
			var table *inspect.WatchTable
			timeout := time.After(60 * time.Second)
			left := func(l *inspect.Lock) bool { return l != nil && l.Contention() == 1 }
			// A watch may report the deletion before the table arrives. Then no waiter needs a watch.
			for after["/same"] == nil || !left(after["/l"]) && (once || !left(before["/l"])) {
				select {
				case u, ok := <-updates:
					if !ok {
						t.Fatalf("ended; table %+v, locks before %v and after it %v", table, before, after)
					}
					for _, l := range u.Put {
						if table == nil {
							before[l.ID.Path] = l
						} else {
							after[l.ID.Path] = l
						}
					}
					if u.Watches != nil {
						table = u.Watches
					}
					if wholeQueue(before["/l"]) && wholeQueue(before["/same"]) { // focus requests the table
						s.Focus([]inspect.ID{{Backend: "zk", Path: "/l"}, {Backend: "zk", Path: "/same"}})
					}
				case <-timeout:
					t.Fatalf("not in time; table %+v, locks before %v and after it %v", table, before, after)
				}
			}
			for p, l := range after {
				early := before[p] != nil && before[p].ReadAt.Before(table.ReadAt)
				if once && !early || !l.ReadAt.After(table.ReadAt) {
					t.Errorf("%s: read at %v, the table at %v, then %v", p, before[p], table.ReadAt, l.ReadAt)
				}
			}
		})
	}
}

// wholeQueue reports whether all waiters are known.
func wholeQueue(l *inspect.Lock) bool {
	return l != nil && len(l.Waiters) == 1 && l.Waiters[0].Owner.Session != 0
}

func TestLateLoginBlocksNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := New(Config{Backend: "zk", Servers: []string{"127.0.0.1:1"}}).newRun(ctx, func(inspect.Update) {})
	for range cap(r.results) + 1 { // more results than the channel holds
		r.tasks.Go(func() { r.deliver(result{}) })
	}
	cancel()
	ended := make(chan struct{})
	go func() {
		r.tasks.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(60 * time.Second):
		t.Error("Run would not return")
	}
}
