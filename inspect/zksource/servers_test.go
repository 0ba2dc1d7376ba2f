package zksource_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// adminFault makes an AdminServer fail in one way.
type adminFault struct {
	name          string
	fail          http.HandlerFunc
	reason, right string
}

var adminFaults = []adminFault{
	{"401", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}, "credentials required", "AdminServer credentials"},
	{"cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4096")
		fmt.Fprint(w, `{"connections": [], "path_to_session_ids": {}, "num_total_watches": 0,`)
	}, "unexpected EOF", ""},
}

// adminReads are the AdminServer commands that we use, with the aspect that depends on each.
var adminReads = map[string]inspect.Aspect{
	"server_stats": inspect.AspectServer, "connections": inspect.AspectSessions,
	"watch_summary": inspect.AspectWatches, "watches_by_path": inspect.AspectWatches,
}

// Each AdminServer command fails, alone and in pairs, with the four-letter words closed. The failure
// and the missing right are reported, and no client or watch counts as missing.
func TestMissingServerAnswersAreUnknown(t *testing.T) {
	s := onReal(t, "4lw.commands.whitelist=conf")
	want := s.contended("/l")
	behind := httputil.NewSingleHostReverseProxy(must.Have(url.Parse(s.zks.Admin))(t))
	reads := slices.Sorted(maps.Keys(adminReads))
	for _, fault := range adminFaults {
		for i, first := range reads {
			for _, second := range reads[i:] {
				t.Run(fault.name+" "+first+" "+second, func(t *testing.T) {
					t.Parallel()
					s := *s
					s.t = t
					s.adminServer(func(w http.ResponseWriter, r *http.Request) {
						if command := path.Base(r.URL.Path); command == first || command == second {
							fault.fail(w, r)
						} else {
							behind.ServeHTTP(w, r)
						}
					})
					b, got := look(t, s.cfg)
					sameButForWatches(t, got, want)
					for _, read := range []string{first, second} {
						if read == "server_stats" || read == "watches_by_path" && first == "watch_summary" {
							continue // srvr is always open and answers the same; the table is not requested if its size is unknown
						}
						demandUnseen(t, b, inspect.Unseen{Aspect: adminReads[read], Where: s.zks.Addr, Read: read}, fault)
					}
					demandUnseen(t, b, inspect.Unseen{Aspect: inspect.AspectServer, Where: s.cfg.Admin[0]}, fault)
					for _, u := range b.Unseen {
						must.True(t, u.Read == first || u.Read == second, u, "was not refused")
					}
				})
			}
		}
	}
}

// adminServer is the AdminServer that the source asks, until the test ends.
func (s *scene) adminServer(answer http.HandlerFunc) {
	server := httptest.NewServer(answer)
	s.t.Cleanup(server.Close)
	s.cfg.Admin = []string{server.URL}
}

func demandUnseen(t *testing.T, b *inspect.Backend, want inspect.Unseen, fault adminFault) {
	t.Helper()
	i := slices.IndexFunc(b.Unseen, func(u inspect.Unseen) bool {
		return u.Aspect == want.Aspect && u.Where == want.Where && (want.Read == "" || u.Read == want.Read)
	})
	if i < 0 {
		t.Fatalf("%+v is missing from unseen %+v", want, b.Unseen)
	}
	must.Contain(t, b.Unseen[i].Reason, fault.reason)
	must.True(t, strings.HasPrefix(b.Unseen[i].Right, fault.right), b.Unseen[i], "has the wrong right")
}

// sameButForWatches expects the same lock, with no findings except blind.
func sameButForWatches(t *testing.T, l, want *inspect.Lock) {
	t.Helper()
	demand(t, l, brief(want))
	must.Equal(t, l.Waiters[0].Name, want.Waiters[0].Name, "waiter")
	must.True(t, l.Waiters[0].Watch != inspect.Missing, "an unreported watch counts as missing")
	for _, f := range l.Findings {
		must.Equal(t, f.Rule, "blind", "found", f)
	}
}

// A closed four-letter word is a finding. Without an AdminServer in the target, nothing is unseen.
func TestClosedWordsAreNotUnseen(t *testing.T) {
	s := onReal(t, "4lw.commands.whitelist=conf,srvr")
	want := s.contended("/l")
	b, l := look(t, s.cfg)
	sameButForWatches(t, l, want)
	must.True(t, b.Unseen == nil && len(b.Findings) == 2, b.Unseen, b.Findings)
	must.Equal(t, b.Servers[0].Role, "standalone", "role")
}

// A silent AdminServer is reported, even if the four-letter words answer the same.
func TestSilentAdminServerIsReported(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		want := s.contended("/l")
		const nobody = "http://127.0.0.1:1"
		s.cfg.Admin = []string{nobody}
		b, l := look(t, s.cfg)
		sameButForWatches(t, l, want)
		must.True(t, l.Waiters[0].Watch == inspect.Confirmed && l.Holders[0].Owner.Client != "", l)
		must.Equal(t, len(b.Unseen), 1, b.Unseen)
		must.Equal(t, b.Unseen[0].Where, nobody, "where")
		must.True(t, b.Unseen[0].Aspect == inspect.AspectServer && b.Unseen[0].Reason == "connection refused", b.Unseen)
	})
}

// An inquiry starts before we are connected and ends after the first pass. It has no watch tables of
// the locks found by then, so the source must inquire again before it ends.
func TestEarlyInquiryDoesNotEndLook(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	s.queue("/lock", "", "")
	passed, asked := make(chan struct{}), make(chan struct{})
	forward := httputil.NewSingleHostReverseProxy(must.Have(url.Parse(s.zks.Admin))(t))
	var first, pass sync.Once
	var refused atomic.Bool
	s.adminServer(func(w http.ResponseWriter, req *http.Request) {
		first.Do(func() { close(asked) })
		<-passed
		forward.ServeHTTP(w, req)
	})
	s.cfg.Once = true
	s.cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == s.zks.Addr && !refused.Swap(true) { // starts the inquiry
			return nil, errors.New("connection refused")
		}
		if addr == s.zks.Addr { // connects once the AdminServer was asked
			select {
			case <-asked:
			case <-ctx.Done():
			}
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	watches := false
	zksource.New(s.cfg).Run(t.Context(), func(u inspect.Update) {
		if len(u.Put) > 0 {
			pass.Do(func() { close(passed) })
		}
		watches = watches || u.Watches != nil
	})
	pass.Do(func() { close(passed) })
	must.True(t, watches, "the source ended without a watch table")
}

// What a source costs is counted for each server, also across a lost session. A server that refuses costs nothing.
func TestServerLoadIsReported(t *testing.T) {
	const dirs = 20
	const items = 2 * dirs         // each directory's children and data
	const statBytes, reads = 68, 4 // of each item; reads before the first inquiry
	const refuses = "127.0.0.1:1"
	s := onEmbedded(t, zkserver.Config{})
	for i := range dirs {
		s.dirs(fmt.Sprint("/d", i))
	}
	s.cfg.Servers = append(s.cfg.Servers, refuses)
	s.cfg.Admin = []string{s.zks.Admin, "http://" + refuses}
	v := s.watchHastily()
	v.Await("the first inquiry", func() bool { return v.Backend.Servers[0].Role != "" && v.Backend.Cost.Requests > reads })
	v.Await("the reads in the requests", func() bool {
		c := v.Backend.Cost
		return c.Items > items && c.Bytes > items*statBytes && c.ItemLimit > 0 && c.ByteLimit > 0 && c.ItemsPerSecond > 0
	})
	v.loseSession(s)
	v.Await("the requests of both sessions, all to the first server", func() bool {
		servers := v.Backend.Servers
		c := v.Backend.Cost
		return servers[0].Requests == c.Requests && servers[1].Requests == 0 && c.Requests > 2*reads && c.Heartbeats > 0
	})
}

// The count includes only directories that had children and lost them all, and names the parent with
// most of them.
func TestEmptyDirectoriesAreCounted(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		s.dirs("/a", "/b", "/never")
		s.queue("/used", "")
		s.create("/ephemeral", "", zk.FlagEphemeral)
		for _, dir := range []string{"/a/0", "/b/1", "/b/2"} {
			s.remove(s.queue(dir, "")[0])
		}
		s.cfg.Admin = []string{s.zks.Admin}
		e := observe(t, s.cfg).Backends[0].Empty
		must.Equal(t, e.Count, 3, "empty directories")
		must.Equal(t, e.Under, s.root+"/b", "most are below")
		must.True(t, e.UnderCount == 2 && !e.Oldest.IsZero(), e)
	})
}

func TestLocksAreRelistedAfterWatchTable(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		t.Run(fmt.Sprintf("once %v", once), func(t *testing.T) {
			s := onEmbedded(t, zkserver.Config{})
			holder := s.queue("/l", "", "")[0]
			s.queue("/same", "", "")
			s.adminServer(func(w http.ResponseWriter, req *http.Request) {
				switch req.URL.Path {
				case "/commands/watch_summary":
					fmt.Fprint(w, `{"num_total_watches": 0, "error": null}`)
				case "/commands/watches_by_path":
					s.conn.Delete(holder, -1) // the holder leaves during the read
					fmt.Fprint(w, `{"path_to_session_ids": {}, "error": null}`)
				default:
					http.NotFound(w, req)
				}
			})
			s.cfg.Once = once
			ctx, cancel := context.WithTimeout(t.Context(), sourcetest.Limit)
			defer cancel()
			source := zksource.New(s.cfg)
			before, after := map[string]*inspect.Lock{}, map[string]*inspect.Lock{}
			var table *inspect.WatchTable
			left := func(l *inspect.Lock) bool { return l != nil && l.Contention() == 1 }
			known := func(l *inspect.Lock) bool { return l != nil && len(l.Waiters) == 1 && l.Waiters[0].Owner.Session != 0 }
			whole := false
			source.Run(ctx, func(u inspect.Update) {
				if whole {
					return
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
				if known(before["/l"]) && known(before["/same"]) { // focus requests the table
					source.Focus([]inspect.ID{s.id("/l"), s.id("/same")})
				}
				// A watch may report the deletion before the table arrives. Then no waiter needs a watch.
				if whole = after["/same"] != nil && (left(after["/l"]) || !once && left(before["/l"])); whole {
					cancel()
				}
			})
			if !whole {
				t.Fatalf("ended; table %+v, locks before %v and after it %v", table, before, after)
			}
			for p, l := range after {
				early := before[p] != nil && before[p].ReadAt.Before(table.ReadAt)
				must.True(t, early || !once, p, "read at", before[p], "the table at", table.ReadAt)
				must.True(t, l.ReadAt.After(table.ReadAt), p, "read again at", l.ReadAt, "the table at", table.ReadAt)
			}
		})
	}
}
