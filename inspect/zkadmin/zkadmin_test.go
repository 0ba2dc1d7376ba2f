package zkadmin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// asking returns a client and a context in which its servers should have answered.
func asking(t *testing.T, c Config, within time.Duration) (context.Context, *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	s := New(c)
	t.Cleanup(func() { cancel(); s.Close() })
	return ctx, s
}

func TestBothProtocolsAgree(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		conn := servertest.ConnectZooKeeper(t, zks.Addr, 10*time.Second)
		path := servertest.UniquePath(t)
		must.Have(conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
		if _, _, _, err := conn.GetW(path); err != nil {
			t.Fatal(err)
		}
		for name, cfg := range map[string]Config{"admin": {Admin: zks.Admin}, "words": {Addr: zks.Addr}} {
			t.Run(name, func(t *testing.T) {
				questions := map[string]uint64{"admin": 4, "words": 5}[name] // mntr comes with srvr
				ctx, s := asking(t, cfg, time.Minute)
				conns := must.Have(s.Connections(ctx))(t)
				found := false
				for _, c := range conns {
					if c.Session == conn.SessionID() {
						found = true
						if _, _, err := net.SplitHostPort(c.Client); err != nil || c.Timeout != 10*time.Second || time.Since(c.Established) > time.Hour {
							t.Errorf("our connection: %+v", c)
						}
					}
				}
				must.True(t, found, "our session is not among", conns)
				watches, err := s.WatchesByPath(ctx)
				if err != nil || !reflect.DeepEqual(watches[path], []int64{conn.SessionID()}) {
					t.Errorf("watches: %v, %v", watches[path], err)
				}
				if sum, err := s.WatchSummary(ctx); err != nil || sum.Watches < 1 {
					t.Errorf("summary: %+v, %v", sum, err)
				}
				if st, err := s.Status(ctx); err != nil || st.Role != "standalone" || st.Version == "" || st.Uptime == 0 || st.Zxid == 0 || st.Nodes == 0 {
					t.Errorf("status: %+v, %v", st, err)
				}
				must.Equal(t, s.Requests(), questions, "requests")
			})
		}
	})
}

// speak answers every connection with one text and closes it.
func speak(t *testing.T, text string) string {
	t.Helper()
	l := must.Have(net.Listen("tcp", "127.0.0.1:0"))(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 4))
			c.Write([]byte(text))
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestBrokenConnectionIsTriedAgain(t *testing.T) {
	addr, first := speak(t, "1 connections watching 2 paths\nTotal watches:3\n"), true
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if first && err == nil {
			conn, first = broken{conn}, false
		}
		return conn, err
	}
	ctx, s := asking(t, Config{Addr: addr, Dial: dial}, time.Minute)
	watches, err := s.WatchSummary(ctx)
	must.Succeed(t, err)
	must.Equal(t, watches.Watches, 3, "watches")
}

// broken is a connection that its server resets.
type broken struct{ net.Conn }

func (broken) Read([]byte) (int, error) { return 0, &net.OpError{Op: "read", Err: syscall.ECONNRESET} }

func TestDisallowedWordsReturnTheirErrors(t *testing.T) {
	ctx, s := asking(t, Config{Addr: speak(t, "cons is not executed because it is not in the whitelist.\n")}, time.Minute)
	_, err := s.Connections(ctx)
	must.Be(t, err, ErrNotAllowed)
	_, err = s.WatchSummary(ctx)
	must.Be(t, err, ErrSyntax, "an answer to another word")
	_, err = New(Config{}).Status(ctx)
	must.Be(t, err, ErrNoAddress)
	ctx, s = asking(t, Config{Addr: speak(t, "This ZooKeeper instance is not currently serving requests\n")}, time.Minute)
	_, err = s.Status(ctx)
	must.Be(t, err, ErrNoQuorum)
}

// A truncated answer must not pass for a complete one: the sessions after the cut would look gone.
func TestTruncatedAnswerIsAnError(t *testing.T) {
	const (
		conns   = " /127.0.0.1:1[1](queued=0,recved=9,sent=9,sid=0x1,lop=PING,est=1,to=40000)\n /127.0.0.1:2[0](queued=0,recved=1,sent=0)\n\n"
		watches = "/a\n\t0x1\n\t0x2\n/b\n\t0x1\n\n"
		server  = "Zookeeper version: 3.8.0-x, built on y\nZxid: 0x100000002\nMode: follower\nNode count: 12\n"
	)
	for text, parse := range map[string]func(string) error{
		conns:   func(s string) error { _, err := parseCons(s); return err },
		watches: func(s string) error { _, err := parseWchp(s); return err },
		server:  func(s string) error { _, err := parseSrvr(s); return err },
	} {
		must.Be(t, parse(text), nil, "whole")
		for end := range len(text) {
			if err := parse(text[:end]); !errors.Is(err, ErrSyntax) {
				t.Errorf("cut after %q: %v", text[:end], err)
			}
		}
	}
	whole := "zk_version\t3.8.0\nzk_uptime\t12345\nzk_max_latency\t0\n"
	for end := range len(whole) {
		if up := parseUptime(whole[:end]); up != 0 && up != 12345*time.Millisecond {
			t.Errorf("cut after %q: up for %v", whole[:end], up)
		}
	}
}

func TestFallbackKeepsAdminServerFailure(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		var shut atomic.Bool
		shut.Store(true)
		admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if shut.Load() {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.Write([]byte(`{"num_total_watches":1}`))
		}))
		defer admin.Close()
		ctx, s := asking(t, Config{Addr: zks.Addr, Admin: admin.URL}, time.Minute)
		must.Have(s.WatchSummary(ctx))(t)
		if f := s.AdminFailure(); f == nil || !errors.Is(f, ErrUnauthorized) || f.Where != admin.URL || f.Read != "watch_summary" {
			t.Errorf("failure %v", f)
		}
		must.Equal(t, s.Requests(), 2, "requests")
		shut.Store(false)
		if _, err := s.WatchSummary(ctx); err != nil || s.AdminFailure() != nil {
			t.Errorf("%v, then %v", err, s.AdminFailure())
		}
	})
}

// hanging starts an AdminServer that never answers. It returns its questions and its URL.
func hanging(t *testing.T) (asked chan struct{}, url string) {
	t.Helper()
	asked, hang := make(chan struct{}, 9), make(chan struct{})
	admin := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; <-hang }))
	t.Cleanup(func() { close(hang); admin.Close() })
	return asked, admin.URL
}

func TestSlowAdminServerLeavesFallbackTime(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	_, admin := hanging(t)
	ctx, s := asking(t, Config{Addr: zks.Addr, Admin: admin}, 8*time.Second)
	if _, err := s.Status(ctx); err != nil || !errors.Is(s.AdminFailure(), context.DeadlineExceeded) {
		t.Errorf("%v; AdminServer: %v", err, s.AdminFailure())
	}
}

// A call that we cut short ourselves is not a failure.
func TestCancellationIsNotAFailure(t *testing.T) {
	asked, admin := hanging(t)
	ctx, s := asking(t, Config{Addr: "127.0.0.1:1", Admin: admin}, time.Minute)
	ctx, cancel := context.WithCancel(ctx)
	go func() { <-asked; cancel() }()
	_, err := s.Connections(ctx)
	var failed *Failure
	if !errors.Is(err, context.Canceled) || errors.As(err, &failed) || s.AdminFailure() != nil {
		t.Errorf("%v; AdminServer: %v", err, s.AdminFailure())
	}
}

func TestAFailureIsOneLine(t *testing.T) {
	ctx, s := asking(t, Config{Addr: "127.0.0.1:1", Admin: "http://127.0.0.1:1"}, time.Minute)
	_, err := s.Status(ctx)
	if err == nil || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "refused") != 2 || s.Requests() != 0 {
		t.Errorf("%v, after %d requests", err, s.Requests())
	}
}

func TestHostileAdminServerReturnsAnError(t *testing.T) {
	says := func(code int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			w.Write([]byte(text))
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    error
	}{
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, ErrSyntax},
		"wants a login": {says(401, ""), ErrUnauthorized},
		"is cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			w.Write([]byte(`{"connections":[`))
		}, io.ErrUnexpectedEOF},
		"is ended early": {says(200, `{"connections":[`), ErrSyntax},
		"fails":          {says(500, "java.lang.NullPointerException"), ErrSyntax},
		"has no quorum":  {says(200, `{"error":"This ZooKeeper instance is not currently serving requests"}`), ErrNoQuorum},
		"has an error":   {says(200, `{"error":"Unknown command"}`), ErrNotAllowed},
		"is not JSON":    {says(200, "<html>"), ErrSyntax},
		"never ends":     {says(200, strings.Repeat(" ", 17<<20)), ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.handler)
			defer server.Close()
			ctx, s := asking(t, Config{Admin: server.URL}, time.Minute)
			_, err := s.Connections(ctx)
			must.Be(t, err, c.want)
		})
	}
}

func TestDeadServerTimesOut(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	must.Succeed(t, err)
	defer l.Close()
	ctx, s := asking(t, Config{Addr: l.Addr().String(), Admin: "http://" + l.Addr().String()}, 50*time.Millisecond)
	_, err = s.Connections(ctx)
	must.Be(t, err, context.DeadlineExceeded)
}

func TestSessionIDsKeepAllBits(t *testing.T) {
	for _, id := range []int64{72057675180539904, -9151314442816847871, 9223372036854775807} {
		watches, err := parseWchp(fmt.Sprintf("/p\n\t0x%016x\n\n", uint64(id)))
		must.True(t, err == nil && watches["/p"][0] == id, "wchp", id, watches, err)
	}
	watches, err := parseWatches([]byte(`{"path_to_session_ids":{"/p":[72057675180539905,-9151314442816847871]},"error":null}`))
	if err != nil || !reflect.DeepEqual(watches["/p"], []int64{72057675180539905, -9151314442816847871}) {
		t.Errorf("%v, %v", watches, err)
	}
}

func expectSessions(t *testing.T, conns []Connection, err error) {
	t.Helper()
	for _, c := range conns {
		must.True(t, err != nil || c.Session != 0 && c.Timeout >= 0, c)
	}
}

func FuzzWords(f *testing.F) {
	f.Add(" /127.0.0.1:35398[1](queued=0,recved=49,sent=50,sid=0x1000012e47a0000,lop=PING,est=1700000000000,to=40000,lresp=7)\n\n")
	f.Add("/a/b\n\t0x1000012e47a0000\n")
	f.Add("5 connections watching 11 paths\nTotal watches:12")
	f.Add("Zookeeper version: 3.8.0-abc, built on x\nMode: leader\n")
	f.Fuzz(func(t *testing.T, text string) {
		conns, err := parseCons(text)
		expectSessions(t, conns, err)
		parseWchp(text)
		if s, err := parseWchs(text); err == nil && s.Watches < 0 {
			t.Error(s)
		}
		if s, err := parseSrvr(text); err == nil && len(s.Version) > 20 {
			t.Error(s)
		}
	})
}

func FuzzAdmin(f *testing.F) {
	f.Add([]byte(`{"connections":[{"remote_socket_address":"127.0.0.1:1","session_id":1,"session_timeout":40000}],"error":null}`))
	f.Add([]byte(`{"num_total_watches":1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		conns, err := parseConnections(body)
		expectSessions(t, conns, err)
		parseWatches(body)
		parseSummary(body)
		parseStats(body)
	})
}
