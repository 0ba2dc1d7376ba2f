package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// shedLock is a ShedLock key's value, which names its host.
func shedLock(host string) string {
	return "ADDED:2026-03-01T12:00:00.000Z@" + host + ":7c5e2f6a-0b63-4c3e-9a53-3a1f5f1d2b4c"
}

func TestHostsAreShownByTheNamesThatPeopleUse(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	must.Succeed(t, server.Mini.Set("job-lock:default:invoices", shedLock("orders-7d9f8b6c54-x2kqz")))
	must.Succeed(t, server.Mini.Set("job-lock:default:mails", shedLock("10.0.4.17")))
	server.Mini.SetTTL("job-lock:default:invoices", time.Hour)
	server.Mini.SetTTL("job-lock:default:mails", time.Hour)
	target := "redis://" + server.Addr
	home := t.TempDir()
	file := filepath.Join(home, "lockscope", "config.yaml")
	must.Succeed(t, os.MkdirAll(filepath.Dir(file), 0o700))
	write := func(text string) {
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	}
	env := map[string]string{"XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home}
	write("default: dev\nprofiles: {dev: {targets: ['" + target + "'], hosts: [{address: 10.0.4.17, name: mailer}]}}\n" +
		"hosts:\n  - address: 10.0.4.0/24\n    name: batch rack\n  - host: (?P<app>[a-z0-9-]+)-[0-9a-f]{8,10}-(?P<id>[a-z0-9]{5})\n    name: pod {app}/{id}\n")
	name := func(args ...string) string {
		t.Helper()
		got := runIn(t, t.Context(), env, append([]string{"show", "-o", "json"}, args...)...)
		var l struct {
			Holders []struct {
				Owner struct {
					HostName struct{ Name, From string } `json:"host_name"`
				}
			}
		}
		if err := json.Unmarshal([]byte(got.stdout), &l); err != nil || len(l.Holders) != 1 {
			t.Fatalf("%v: %+v", err, got)
		}
		if from := l.Holders[0].Owner.HostName.From; from != "configuration" {
			t.Errorf("%s: from %q", args, from)
		}
		return l.Holders[0].Owner.HostName.Name
	}
	if got := name("redis:job-lock:default:invoices", target); got != "pod orders/x2kqz" {
		t.Errorf("a pod: %q", got)
	}
	if got := name("redis:job-lock:default:mails", target); got != "batch rack" {
		t.Errorf("its network: %q", got)
	}
	if got := name("redis:job-lock:default:mails"); got != "mailer" {
		t.Errorf("the profile comes first: %q", got)
	}
	write("hosts: [{host: '(?P<app>.*)', name: 'pod {id}'}]\n")
	for _, args := range [][]string{{"config", "check"}, {"ls", target}} {
		if got := runIn(t, t.Context(), env, args...); got.code != app.ExitUsage || !strings.Contains(got.stderr, `host has no group "id"`) {
			t.Errorf("%v of a rule that means nothing: %+v", args, got)
		}
	}
}
