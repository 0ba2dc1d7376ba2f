package cli

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// awaitText polls a file that another process writes until it holds a text so often.
func awaitText(t *testing.T, path, text string, times int) string {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		got, err := os.ReadFile(path)
		if err == nil && strings.Count(string(got), text) >= times {
			return string(got)
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not have %q %d times: %q, %v", path, text, times, got, err)
		}
	}
}

// A finding reaches a program and a webhook when it comes and when it is cleared, each once, whatever else
// hangs or fails.
func TestWatchTellsAProgramAndAWebhook(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("COMMAND is written for sh")
	}
	t.Setenv("LOCKSCOPE_WEBHOOK_TOKEN", marked+"token")
	server := servertest.StartEmbeddedRedis(t)
	posted := make(chan string, 100)
	failures := 1
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failures > 0 {
			failures--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Authorization") != "Bearer "+marked+"token" {
			t.Errorf("posted with %q, %v", r.Header, err)
		}
		posted <- string(body)
	}))
	defer hook.Close()
	dir := t.TempDir()
	address, reported := filepath.Join(dir, "address"), filepath.Join(dir, "reported")
	if err := os.WriteFile(address, []byte(hook.URL+"/"+marked+"path\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := server.Mini.Set("lock:old", "Y2NjY2NjY2NjY2NjY2NjYw=="); err != nil { // without a TTL
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	defer end()
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "LOCKSCOPE_WEBHOOK_TOKEN": marked + "token"}
	ended := make(chan outcome, 1)
	go func() {
		ended <- runIn(t, ctx, env, "watch", "redis://"+server.Addr+"?match=lock:*", "--webhook", "@"+address,
			"--exec", `(cat; env; echo "event=$LOCKSCOPE_EVENT $LOCKSCOPE_LOCK $LOCKSCOPE_FINDING $LOCKSCOPE_SEVERITY") >> `+reported)
	}()
	awaitText(t, reported, "event=finding redis:lock:old no-ttl warning", 1)
	checkEvent(t, <-posted) // after a failed attempt
	server.Mini.Del("lock:old")
	text := awaitText(t, reported, "event=cleared redis:lock:old no-ttl warning", 1)
	e := checkEvent(t, <-posted)
	if e.Event != "cleared" || e.Lock != "redis:lock:old" {
		t.Errorf("posted %+v", e)
	}
	end()
	got := <-ended
	if n := strings.Count(text, "event=finding redis:lock:old"); n != 1 {
		t.Errorf("reported %d times: %s", n, text)
	}
	if all := text + got.stdout + got.stderr; got.code != 0 || strings.Contains(all, marked) || !strings.Contains(got.stderr, "--webhook: not delivered yet") {
		t.Errorf("%+v; reported %s", got, text)
	}
}

// looks has the events of snapshots that follow one another, as EVENT SUBJECT FINDING.
func looks(t *testing.T, n *notifying, s ...*inspect.Snapshot) []string {
	t.Helper()
	for _, one := range s {
		n.observe(one)
	}
	var reported []string
	for key, e := range n.open {
		words := strings.Fields(strings.ReplaceAll(key, "\x00", " "))
		reported = append(reported, strings.Join(append(words, string(e.Finding.Severity)), " "))
	}
	return reported
}

func TestWhatIsMutedOrLessSevereIsNotReported(t *testing.T) {
	id := inspect.ID{Backend: "redis", Path: "lock:a"}
	snapshot := func(list ...inspect.Finding) *inspect.Snapshot {
		s := inspect.NewSnapshot(time.Unix(1_700_000_000, 0), []*inspect.Backend{{Name: "redis"}}, []*inspect.Lock{{ID: id, Findings: list}})
		s.Changed = []inspect.ID{id}
		return s
	}
	n := &notifying{app: &app{}, least: inspect.Warning.Rank(), open: make(map[string]inspect.Event), levels: make(map[string]int)}
	muted := inspect.Finding{Rule: "no-ttl", Severity: inspect.Warning, Muted: &inspect.Muted{}}
	if got := looks(t, n, snapshot(inspect.Finding{Rule: "blind", Severity: inspect.Info}, muted)); len(got) != 0 {
		t.Errorf("reported %q", got)
	}
	muted.Muted = nil // unmuted, with no event
	if got := looks(t, n, snapshot(muted)); len(got) != 1 || got[0] != "redis:lock:a no-ttl warning" {
		t.Errorf("reported %q", got)
	}
	empty := snapshot()
	if looks(t, n, empty); len(n.open) != 1 {
		t.Errorf("cleared before its event: %v", n.open)
	}
	empty.Dropped = 1 // the event may have been among those
	if got := looks(t, n, empty); len(got) != 0 {
		t.Errorf("still open: %q", got)
	}
}

func TestWebhooksThatWouldTellASecret(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ at, says string }{
		{"https://u:" + marked + "x@host/", "a password in the address is refused"},
		{"http://host/" + marked, "in the clear"},
		{"ftp://host/" + marked, "no address of a receiver"},
		{"https://" + marked + "\x7f", "no address of a receiver"},
	} {
		env := map[string]string{"LOCKSCOPE_WEBHOOK_TOKEN": "t", "XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
		got := runIn(t, t.Context(), env, "watch", "redis://h", "--webhook", tt.at)
		if got.code != exitUsage || !strings.Contains(got.stderr, tt.says) || strings.Contains(got.stderr, marked) {
			t.Errorf("%s: %+v", tt.at, got)
		}
	}
	file := filepath.Join(t.TempDir(), "address")
	if err := os.WriteFile(file, []byte("https://host/"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "watch", "redis://h", "--webhook", "@"+file); runtime.GOOS != "windows" && (got.code != exitUsage || !strings.Contains(got.stderr, "may be read by others")) {
		t.Errorf("%+v", got)
	}
}

func TestABackendThatIsNotWellIsReported(t *testing.T) {
	for state, level := range map[inspect.BackendState]int{inspect.Connected: 0, inspect.Degraded: 1, inspect.Down: 2} {
		if got := backendLevel(&inspect.Backend{State: state}); got != level {
			t.Errorf("%s: level %d", state, got)
		}
	}
}
