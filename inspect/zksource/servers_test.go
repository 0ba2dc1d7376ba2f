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
	{"500", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>\x1b[31mNullPointerException", http.StatusInternalServerError)
	}, "HTTP 500", ""},
	{"cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4096")
		fmt.Fprint(w, `{"connections": [], "path_to_session_ids": {}, "num_total_watches": 0,`)
	}, "unexpected EOF", ""},
	{"other words", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"hello":"\u001b[31m"}`) }, "not a ZooKeeper server's answer", ""},
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
	target := must.Have(url.Parse(s.zks.Admin))(t)
	reads := slices.Sorted(maps.Keys(adminReads))
	for _, fault := range adminFaults {
		for i, first := range reads {
			for _, second := range reads[i:] {
				t.Run(fault.name+" "+first+" "+second, func(t *testing.T) {
					t.Parallel()
					admin := faultyAdmin(t, target, fault, first, second)
					b, got := look(t, zksource.Config{Servers: s.cfg.Servers, Admin: []string{admin}})
					sameButForWatches(t, got, want)
					for _, read := range []string{first, second} {
						if read == "server_stats" || read == "watches_by_path" && first == "watch_summary" {
							continue // srvr is always open and answers the same; the table is not requested if its size is unknown
						}
						demandUnseen(t, b, inspect.Unseen{Aspect: adminReads[read], Where: s.zks.Addr, Read: read}, fault)
					}
					demandUnseen(t, b, inspect.Unseen{Aspect: inspect.AspectServer, Where: admin}, fault)
					for _, u := range b.Unseen {
						if _, known := adminReads[u.Read]; !known || u.Read != first && u.Read != second {
							t.Errorf("%+v was not refused", u)
						}
					}
				})
			}
		}
	}
}

// faultyAdmin starts a proxy to an AdminServer that fails at these commands.
func faultyAdmin(t *testing.T, target *url.URL, fault adminFault, commands ...string) string {
	behind := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(commands, strings.TrimPrefix(r.URL.Path, "/commands/")) {
			fault.fail(w, r)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func demandUnseen(t *testing.T, b *inspect.Backend, want inspect.Unseen, fault adminFault) {
	t.Helper()
	for _, u := range b.Unseen {
		if u.Aspect == want.Aspect && u.Where == want.Where && (want.Read == "" || u.Read == want.Read) {
			if !strings.Contains(u.Reason, fault.reason) || !strings.HasPrefix(u.Right, fault.right) {
				t.Errorf("%+v: the reason or the right is wrong", u)
			}
			return
		}
	}
	t.Errorf("%+v is missing from unseen %+v", want, b.Unseen)
}

// sameButForWatches expects the same lock, with no findings except blind.
func sameButForWatches(t *testing.T, l, want *inspect.Lock) {
	t.Helper()
	if l == nil || l.State != want.State || len(l.Holders) != 1 || len(l.Waiters) != 1 || l.Waiters[0].Name != want.Waiters[0].Name {
		t.Fatalf("%+v, want %+v", l, want)
	}
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
		if len(b.Unseen) != 1 || b.Unseen[0].Where != nobody || b.Unseen[0].Aspect != inspect.AspectServer || b.Unseen[0].Reason != "connection refused" {
			t.Errorf("unseen %+v", b.Unseen)
		}
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
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		first.Do(func() { close(asked) })
		<-passed
		forward.ServeHTTP(w, req)
	}))
	defer admin.Close()
	s.cfg.Admin, s.cfg.Once = []string{admin.URL}, true
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

func TestServerLoadIsReported(t *testing.T) {
	s := onEmbedded(t, zkserver.Config{})
	for i := range 20 {
		s.dirs(fmt.Sprint("/d", i))
	}
	s.cfg.Servers = append(s.cfg.Servers, "127.0.0.1:1")
	s.cfg.Admin = []string{s.zks.Admin, "http://127.0.0.1:1"}
	v := s.watchHastily()
	v.Await("the first inquiry", func() bool { return v.Backend.Servers[0].Role != "" && v.Backend.Cost.Requests > 4 })
	v.Await("the reads in the requests", func() bool {
		c := v.Backend.Cost
		return c.Items > 40 && c.Bytes > 40*68 && c.ItemLimit > 0 && c.ByteLimit > 0 && c.ItemsPerSecond > 0
	})
	v.loseSession(s)
	v.Await("equal counts", func() bool {
		servers := v.Backend.Servers
		return servers[0].Requests == v.Backend.Cost.Requests && servers[1].Requests == 0 && v.Backend.Cost.Requests > 8
	})
}

func TestCompleteSessionsNeedEveryServer(t *testing.T) {
	eachServer(t, func(t *testing.T, s *scene) {
		for all, admins := range map[bool][]string{true: {s.zks.Admin}, false: {s.zks.Admin, "http://127.0.0.1:1"}} {
			s.cfg.Admin = admins
			v := s.once()
			must.True(t, len(v.Sessions) > 0, "no sessions", admins)
			must.Equal(t, v.All, all, admins)
		}
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
		if e.Oldest.IsZero() || e.Count != 3 || e.Under != s.root+"/b" || e.UnderCount != 2 {
			t.Errorf("%+v", e)
		}
	})
}

func TestLocksAreRelistedAfterWatchTable(t *testing.T) {
	t.Parallel()
	for _, once := range []bool{true, false} {
		t.Run(fmt.Sprintf("once %v", once), func(t *testing.T) {
			s := onEmbedded(t, zkserver.Config{})
			holder := s.queue("/l", "", "")[0]
			s.queue("/same", "", "")
			admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				switch req.URL.Path {
				case "/commands/watch_summary":
					fmt.Fprint(w, `{"num_total_watches": 0, "error": null}`)
				case "/commands/watches_by_path":
					s.conn.Delete(holder, -1) // the holder leaves during the read
					fmt.Fprint(w, `{"path_to_session_ids": {}, "error": null}`)
				default:
					http.NotFound(w, req)
				}
			}))
			defer admin.Close()
			s.cfg.Admin, s.cfg.Once = []string{admin.URL}, once
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
				if once && !early || !l.ReadAt.After(table.ReadAt) {
					t.Errorf("%s: read at %v, the table at %v, then %v", p, before[p], table.ReadAt, l.ReadAt)
				}
			}
		})
	}
}
