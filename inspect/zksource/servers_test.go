package zksource_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
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
	t.Parallel()
	zks := servertest.StartZooKeeper(t, "4lw.commands.whitelist=conf")
	l := contended(t, zks, "/l")
	target := must.Have(url.Parse(zks.Admin))(t)
	reads := slices.Sorted(func(yield func(string) bool) {
		for r := range adminReads {
			if !yield(r) {
				return
			}
		}
	})
	for _, fault := range adminFaults {
		for i, first := range reads {
			for _, second := range reads[i:] {
				t.Run(fault.name+" "+first+" "+second, func(t *testing.T) {
					t.Parallel()
					admin := faultyAdmin(t, target, fault, first, second)
					b, got := lookWithRules(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{admin}})
					sameButForWatches(t, got, l)
					for _, read := range []string{first, second} {
						if read == "server_stats" || read == "watches_by_path" && first == "watch_summary" {
							continue // srvr is always open and answers the same; the table is not requested if its size is unknown
						}
						demandUnseen(t, b, inspect.Unseen{Aspect: adminReads[read], Where: zks.Addr, Read: read}, fault)
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

// contended creates a lock with a holder and a waiter, and returns it as read.
func contended(t *testing.T, zks *servertest.ZooKeeper, p string) *inspect.Lock {
	t.Helper()
	c := client(t, zks)
	create(t, c, p, "", 0)
	held := create(t, c, p+"/"+guid+"__lock__", "a", contender)
	waiter := client(t, zks)
	create(t, waiter, p+"/"+guid2+"__lock__", "b", contender)
	if _, _, _, err := waiter.GetW(held); err != nil { // as a waiter does
		t.Fatal(err)
	}
	_, l := lookWithRules(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{zks.Admin}, Roots: []string{p}})
	if l == nil || len(l.Waiters) != 1 || l.Waiters[0].Watch != inspect.Confirmed {
		t.Fatalf("%+v", l)
	}
	return l
}

// lookWithRules reads the backend and its first lock with all findings.
func lookWithRules(t *testing.T, cfg zksource.Config) (*inspect.Backend, *inspect.Lock) {
	t.Helper()
	s := observe(t, cfg, finding.Rules()...)
	for l := range s.Locks() {
		return s.Backends[0], l
	}
	return s.Backends[0], nil
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
	t.Parallel()
	zks := servertest.StartZooKeeper(t, "4lw.commands.whitelist=conf,srvr")
	l := contended(t, zks, "/l")
	b, got := lookWithRules(t, zksource.Config{Servers: []string{zks.Addr}})
	sameButForWatches(t, got, l)
	if b.Unseen != nil || len(b.Findings) != 2 || b.Servers[0].Role != "standalone" {
		t.Errorf("unseen %+v, found %+v, servers %+v", b.Unseen, b.Findings, b.Servers)
	}
}

// A silent AdminServer is reported, even if the four-letter words answer the same.
func TestSilentAdminServerIsReported(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		want := contended(t, zks, root)
		const nobody = "http://127.0.0.1:1"
		b, l := lookWithRules(t, zksource.Config{Servers: []string{zks.Addr}, Admin: []string{nobody}, Roots: []string{root}})
		sameButForWatches(t, l, want)
		if l.Waiters[0].Watch != inspect.Confirmed || l.Holders[0].Owner.Client == "" {
			t.Errorf("%+v", l)
		}
		if len(b.Unseen) != 1 || b.Unseen[0].Where != nobody || b.Unseen[0].Aspect != inspect.AspectServer || b.Unseen[0].Reason != "connection refused" {
			t.Errorf("unseen %+v", b.Unseen)
		}
	})
}
