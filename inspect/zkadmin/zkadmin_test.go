package zkadmin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

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

// speak answers each four-letter word and each AdminServer's command with its texts in turn, and closes
// the connection. The last text is repeated.
func speak(t *testing.T, answers map[string][]string) string {
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
			name := questionOf(c)
			if texts := answers[name]; len(texts) > 0 {
				c.Write([]byte(texts[0]))
				answers[name] = texts[min(1, len(texts)-1):]
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// questionOf reads a word, or the command of an HTTP request and its credentials.
func questionOf(c net.Conn) string {
	word := make([]byte, 4)
	io.ReadFull(c, word)
	if string(word) != "GET " {
		return string(word)
	}
	r, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(word), c)))
	if err != nil {
		return err.Error()
	}
	name := strings.TrimPrefix(r.URL.Path, "/commands/")
	if user, password, ok := r.BasicAuth(); ok {
		name += " " + user + ":" + password
	}
	return name
}

// TestAnswersMatchGoldenFile asks each server of testdata/answers.txtar, and compares what it reports.
func TestAnswersMatchGoldenFile(t *testing.T) {
	const path = "testdata/answers.txtar"
	all := must.Have(txtar.ParseFile(path))(t)
	for i, f := range all.Files {
		given, _, _ := strings.Cut(string(f.Data), "= ")
		got := given + reported(t, f.Name, given)
		must.NoDiff(t, cmp.Diff(string(f.Data), got), f.Name, "- golden, + reported")
		all.Files[i].Data = []byte(got)
	}
	if *update {
		must.Succeed(t, os.WriteFile(path, txtar.Format(all), 0o600))
	}
}

var update = flag.Bool("update", false, "rewrite the golden file")

// reported plays a scenario, and returns the results.
func reported(t *testing.T, name, given string) string {
	answers, admin, words := make(map[string][]string), false, false
	for _, part := range strings.Split("\n"+strings.TrimSuffix(given, "\n"), "\n> ")[1:] {
		question, text, _ := strings.Cut(part, "\n")
		answers[question] = append(answers[question], text+"\n")
		admin, words = admin || len(question) > 4, words || len(question) == 4
	}
	var c Config
	addr := speak(t, answers)
	if admin {
		c.Admin = "http://" + addr + "/"
	}
	if words {
		c.Addr = addr
	}
	calls, as, _ := strings.Cut(name, " as ")
	c.Username, c.Password, _ = strings.Cut(as, ":")
	ctx, s := asking(t, c, time.Minute)
	var log strings.Builder
	for call := range strings.FieldsSeq(strings.Split(calls, ":")[0]) {
		value, err := map[string]func() (any, error){
			"connections": func() (any, error) { return s.Connections(ctx) },
			"watches":     func() (any, error) { return s.WatchesByPath(ctx) },
			"summary":     func() (any, error) { return s.WatchSummary(ctx) },
			"status":      func() (any, error) { return s.Status(ctx) },
		}[call]()
		fmt.Fprintf(&log, "= %s: %+v, %v\n  requests: %d", call, value, err, s.Requests())
		if f := s.AdminFailure(); f != nil && err == nil {
			fmt.Fprintf(&log, ", the AdminServer failed: %v", f)
		}
		log.WriteByte('\n')
	}
	return strings.NewReplacer(" +0000 UTC", "", addr, "ADDR").Replace(log.String())
}

func TestBrokenConnectionIsTriedAgain(t *testing.T) {
	addr, first := speak(t, map[string][]string{"wchs": {"1 connections watching 2 paths\nTotal watches:3\n"}}), true
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

func TestServersHaveAnAddress(t *testing.T) {
	must.Equal(t, New(Config{Addr: "a:1", Admin: "http://a"}).Addr(), "a:1")
	must.Equal(t, New(Config{Admin: "http://a"}).Addr(), "http://a")
	must.True(t, New(Config{Admin: "http://a"}).HasAdmin(), "no AdminServer")
	_, err := New(Config{}).Status(t.Context())
	must.Be(t, err, ErrNoAddress)
	_, err = New(Config{Admin: "http://[::1"}).Status(t.Context())
	must.True(t, err != nil, "an impossible URL is asked")
}

func TestAdminServerMayUseTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"num_total_watches":1}`))
	}))
	defer server.Close()
	trusting := server.Client().Transport.(*http.Transport).TLSClientConfig
	ctx, s := asking(t, Config{Admin: server.URL, TLS: trusting}, time.Minute)
	must.Have(s.WatchSummary(ctx))(t)
}

func TestAnswersAreLimitedInSize(t *testing.T) {
	must.Have(readAll(strings.NewReader(strings.Repeat(" ", maxAnswer))))(t)
	_, err := readAll(strings.NewReader(strings.Repeat(" ", maxAnswer+1)))
	must.Be(t, err, ErrTooLarge)
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

func TestSlowAdminServerLeavesFallbackTime(t *testing.T) {
	zks := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	hang := make(chan struct{})
	admin := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer admin.Close()
	defer close(hang)
	ctx, s := asking(t, Config{Addr: zks.Addr, Admin: admin.URL}, 8*time.Second)
	if _, err := s.Status(ctx); err != nil || !errors.Is(s.AdminFailure(), context.DeadlineExceeded) {
		t.Errorf("%v; AdminServer: %v", err, s.AdminFailure())
	}
}

// A call that we cut short ourselves is not a failure.
func TestCancellationIsNotAFailure(t *testing.T) {
	for _, c := range []Config{{Addr: "127.0.0.1:1"}, {Addr: "127.0.0.1:1", Admin: "http://127.0.0.1:1"}} {
		ctx, cancel := context.WithCancel(t.Context())
		c.Dial = func(context.Context, string, string) (net.Conn, error) { cancel(); return nil, io.EOF }
		_, s := asking(t, c, time.Minute)
		_, err := s.Connections(ctx)
		var failed *Failure
		if !errors.Is(err, context.Canceled) || errors.As(err, &failed) || s.AdminFailure() != nil {
			t.Errorf("%v; AdminServer: %v", err, s.AdminFailure())
		}
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
