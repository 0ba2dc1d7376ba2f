package cli

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// line returns the ACL line that doctor --access prints below a title.
func line(t *testing.T, text, title string) []string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "  "+title+"\n")
	words, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	if !ok || !strings.HasPrefix(words, "ACL SETUSER ") {
		t.Fatalf("no line %q in %s", title, text)
	}
	return strings.Fields(strings.ReplaceAll(words, ">PASSWORD", ">"+marked+"x"))
}

// homeOf returns a separate home with the credentials of a Redis user.
func homeOf(t *testing.T, user string) map[string]string {
	env := home(t)
	env["LOCKSCOPE_REDIS_USERNAME"], env["LOCKSCOPE_REDIS_PASSWORD"] = user, marked+"x"
	return env
}

// The rights that doctor --access prints suffice: one line for viewing, the other for acting.
func TestAdvisedRightsSuffice(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	target := "redis://" + server.Addr + "?match=lock:*"
	got := run(t, "doctor", "--access", target)
	if got.code != 0 || !strings.Contains(got.stdout, "may act: yes") {
		t.Fatalf("%+v", got)
	}
	redisDo(t, server.Addr, line(t, got.stdout, "to view:")...)
	redisDo(t, server.Addr, line(t, got.stdout, "to act:")...)
	redisDo(t, server.Addr, "SET", "lock:kept", "3q2+7wAAAAAAAAAAAAAAAA==", "PX", "600000")
	redisDo(t, server.Addr, "HSET", "lock:redisson", "5f9ea38d-7ca4-4b3c-8a4d-aaaaaaaaaaaa:1", "1")
	redisDo(t, server.Addr, "HSET", "lock:rw", "mode", "read", "5f9ea38d-7ca4-4b3c-8a4d-aaaaaaaaaaaa:1", "1")
	redisDo(t, server.Addr, "SET", "{lock:rw}:5f9ea38d-7ca4-4b3c-8a4d-aaaaaaaaaaaa:1:rwlock_timeout:1", "1", "PX", "600000")
	as := func(user string, args ...string) outcome {
		return runIn(t, t.Context(), homeOf(t, user), append(args, "--timeout", "60s")...)
	}
	for _, user := range []string{"viewer", "operator"} {
		for _, args := range [][]string{{"ls", target}, {"show", "redis:lock:kept", target}, {"doctor", target, "--fail-on", "critical"}} {
			if o := as(user, args...); o.code != 0 || strings.Contains(o.stdout+o.stderr, "NOPERM") {
				t.Errorf("%s: %s: %+v", user, args[0], o)
			}
		}
		as(user, "show", "redis:lock:absent", target).wants(t, app.ExitNo, "", "", user, "shows a missing lock")
		recording := filepath.Join(t.TempDir(), "r.jsonl")
		if o := recordUntil(t, homeOf(t, user), "lock:kept", recording, target, "--timeout", "60s"); o.code != 0 {
			t.Errorf("%s: record: %+v", user, o)
		} else if text, err := os.ReadFile(recording); err != nil || strings.Contains(string(text), "NOPERM") {
			t.Errorf("%s: a right is missing while recording", user)
		}
	}
	const kept = "3q2+7wAAAAAAAAAAAAAAAA=="
	victim := must.Have(net.Dial("tcp", server.Addr))(t)
	defer victim.Close()
	must.Have(io.WriteString(victim, "PING\r\n"))(t)
	must.Have(victim.Read(make([]byte, 16)))(t) // it is in CLIENT LIST now
	for _, args := range [][]string{
		{"acquire", "redis:lock:a", target, "--", "true"},
		{"acquire", "redis:lock:f", target, "--kind", "fair", "--", "true"},
		{"ttl", "redis:lock:kept", target, "--owner", kept, "--set", "60s", "--yes"},
		{"release", "redis:lock:kept", target, "--owner", kept, "--yes"},
		{"contend", "redis:lock:c", target, "-n", "2", "--rounds", "2"},
		{"kill-client", "redis:" + victim.LocalAddr().String(), target, "--yes"},
	} {
		as("operator", args...).wants(t, 0, "", "", args[0])
	}
	for _, args := range [][]string{
		{"acquire", "redis:lock:a", "--wait", "0"},
		{"acquire", "redis:lock:a"},
		{"acquire", "redis:lock:f", "--kind", "fair"},
		{"contend", "redis:lock:c", "-n", "2", "--rounds", "2"},
	} {
		as("viewer", append(args, target)...).wants(t, app.ExitNo, "", "ACL SETUSER viewer +", "the viewer:", args)
	}
	viewer := as("viewer", "doctor", "--access", target)
	if viewer.code != 0 || !strings.Contains(viewer.stdout, "may act: no, its ACL denies EVALSHA") || strings.Contains(viewer.stdout, "does not see") {
		t.Errorf("viewer: %+v", viewer)
	}
}

// Redis accepts the printed lines, including those for all keys, which may not be combined with
// another pattern.
func TestRedisAcceptsAdvisedRights(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	for _, query := range []string{"", "?match=*", "?match=lock:*"} {
		got := run(t, "doctor", "--access", "redis://"+server.Addr+query)
		for _, title := range []string{"to view:", "to act:"} {
			redisDo(t, server.Addr, line(t, got.stdout, title)...)
		}
	}
}

// With the rights of the printed lines on a real ensemble, the viewer can see but not act, and the
// operator can act.
func TestAdvisedZooKeeperRightsSuffice(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	conn := servertest.ConnectZooKeeper(t, server.Addr, 30*time.Second)
	must.Succeed(t, conn.AddAuth("digest", []byte("app:s")))
	list := slices.Concat(zk.DigestACL(zk.PermAll, "app", "s"), zk.DigestACL(zk.PermRead, "viewer", marked+"v"),
		zk.DigestACL(zk.PermRead|zk.PermWrite|zk.PermCreate|zk.PermDelete, "operator", marked+"o"))
	for _, path := range []string{"/secure", "/secure/a"} {
		must.Have(conn.Create(path, nil, 0, list))(t)
	}
	target := fmt.Sprintf("zk://%s/secure?admin=%s", server.Addr, server.Admin)
	as := func(user string, args ...string) outcome {
		env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "LOCKSCOPE_ZK_AUTH": "digest:" + user + ":" + marked + user[:1]}
		return runIn(t, t.Context(), env, append(args, target, "--timeout", "60s")...)
	}
	for user, may := range map[string]string{"viewer": "no", "operator": "yes"} {
		got := as(user, "doctor", "--access")
		if got.code != 0 || !strings.Contains(got.stdout, "may act: "+may) || strings.Contains(got.stdout, "does not see") || strings.Contains(got.stdout, marked) {
			t.Errorf("%s: %+v", user, got)
		}
		as(user, "doctor").wants(t, 0, "", "", user, "doctor")
	}
	acquire := func(user string) outcome {
		env := map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir(), "LOCKSCOPE_ZK_AUTH": "digest:" + user + ":" + marked + user[:1]}
		return runIn(t, t.Context(), env, "acquire", "zk:/secure/a", target, "--wait", "60s", "--", "true")
	}
	acquire("operator").wants(t, 0, "", "", "operator acquire")
	acquire("viewer").wants(t, app.ExitNo, "", "grant READ, CREATE and DELETE", "the viewer")
	as("nobody", "acquire", "zk:/secure/a", "--wait", "0").wants(t, app.ExitNo, "", "", "without a login")
}
