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

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// awaitText polls a file that another process writes until it contains a text.
func awaitText(t *testing.T, path, text string) (all string) {
	t.Helper()
	must.Become(t, path+" has "+text, func() bool {
		got, err := os.ReadFile(path)
		all = string(got)
		return err == nil && strings.Contains(all, text)
	})
	return all
}

// A new and a cleared finding each reach the program and the webhook once, even if another receiver
// hangs or fails.
func TestWatchNotifiesProgramAndWebhook(t *testing.T) {
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
	must.Succeed(t, os.WriteFile(address, []byte(hook.URL+"/"+marked+"path\n"), 0o600))
	must.Succeed(t, server.Mini.Set("lock:old", "Y2NjY2NjY2NjY2NjY2NjYw==")) // without a TTL
	ctx, end := context.WithCancel(t.Context())
	defer end()
	env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "LOCKSCOPE_WEBHOOK_TOKEN": marked + "token"}
	ended := make(chan outcome, 1)
	go func() {
		ended <- runIn(t, ctx, env, "watch", "redis://"+server.Addr+"?match=lock:*", "--webhook", "@"+address,
			"--exec", `(cat; env; echo "event=$LOCKSCOPE_EVENT $LOCKSCOPE_LOCK $LOCKSCOPE_FINDING $LOCKSCOPE_SEVERITY") >> `+reported)
	}()
	awaitText(t, reported, "event=finding redis:lock:old no-ttl warning")
	checkEvent(t, <-posted) // after a failed attempt
	server.Mini.Del("lock:old")
	text := awaitText(t, reported, "event=cleared redis:lock:old no-ttl warning")
	e := checkEvent(t, <-posted)
	if e.Event != "cleared" || e.Lock != "redis:lock:old" {
		t.Errorf("posted %+v", e)
	}
	end()
	got := <-ended
	must.Equal(t, strings.Count(text, "event=finding redis:lock:old"), 1, "times reported in", text)
	if all := text + got.stdout + got.stderr; got.code != 0 || strings.Contains(all, marked) || !strings.Contains(got.stderr, "--webhook: not delivered yet") {
		t.Errorf("%+v; reported %s", got, text)
	}
}
