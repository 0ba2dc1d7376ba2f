package cli

import (
	"context"
	"encoding/json"
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

// A new and a cleared finding each reach the program and the webhook once, even if it fails at
// first.
func TestWatchNotifiesProgramAndWebhook(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("COMMAND is written for sh")
	}
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
	env := home(t)
	env["LOCKSCOPE_WEBHOOK_TOKEN"] = marked + "token"
	ended := make(chan outcome, 1)
	go func() {
		ended <- runIn(t, ctx, env, "watch", "redis://"+server.Addr+"?match=lock:*",
			"--webhook", "@"+address, "--exec", "cat >> "+reported)
	}()
	for _, want := range []string{"finding", "cleared"} { // the first after a failed attempt
		var got struct{ Event, Lock string }
		text := <-posted
		must.Be(t, conforms(text, "event"), nil, text)
		must.Succeed(t, json.Unmarshal([]byte(text), &got))
		must.Equal(t, got.Event+" "+got.Lock, want+" redis:lock:old", "posted")
		server.Mini.Del("lock:old")
	}
	end()
	got := <-ended
	got.wants(t, 0, "", "--webhook: not delivered yet")
	must.True(t, !strings.Contains(got.stdout+got.stderr, marked), "a secret in the output:", got)
	must.Equal(t, len(posted), 0, "more posts")
	text := string(must.Have(os.ReadFile(reported))(t))
	must.Equal(t, strings.Count(text, `"event"`), 2, "reported to the program:", text)
}
