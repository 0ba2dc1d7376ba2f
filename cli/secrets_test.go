package cli

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// marked is part of every password in these tests, so that one search finds them all.
const marked = "sesame-"

// guarded is a ZooKeeper ensemble, a Redis and a Sentinel, each with its own login, and the profile
// p for them.
type guarded struct {
	env     map[string]string
	state   string // directory of the audit file
	config  string
	zk      *zk.Conn
	printed string // the file with the password that a command prints
	// bare are the targets except the single Redis, without their logins.
	bare []string
}

// redisDo runs one command on a server. It must succeed.
func redisDo(t testing.TB, addr string, args ...string) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	words := make([]any, len(args))
	for i, a := range args {
		words[i] = a
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	must.Succeed(t, c.Do(ctx, words...).Err())
}

// adminBehindLogin returns an AdminServer that requires TLS and HTTP Basic, and the file of its
// certificate.
func adminBehindLogin(t *testing.T, admin, user, password string) (address, ca string) {
	t.Helper()
	to := must.Have(url.Parse(admin))(t)
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	ca = filepath.Join(t.TempDir(), "admin.pem")
	must.Succeed(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	return server.URL, ca
}

func startGuarded(t *testing.T) *guarded {
	t.Helper()
	ensemble := servertest.StartZooKeeper(t)
	conn := servertest.ConnectZooKeeper(t, ensemble.Addr, 30*time.Second)
	must.Succeed(t, conn.AddAuth("digest", []byte("ops:"+marked+"zk")))
	for _, path := range []string{"/secure", "/secure/a"} {
		must.Have(conn.Create(path, nil, 0, zk.AuthACL(zk.PermAll)))(t)
	}
	admin, ca := adminBehindLogin(t, ensemble.Admin, "viewer", marked+"admin")
	alone := servertest.StartRedis(t)
	redisDo(t, alone.Addr, "ACL", "SETUSER", "ops", "on", ">"+marked+"redis", "+@all", "~*", "&*")
	redisDo(t, alone.Addr, "ACL", "SETUSER", "default", "off")
	sentinel, master, _ := servertest.StartRedisSentinel(t)
	redisDo(t, master.Addr, "ACL", "SETUSER", "orders", "on", ">"+marked+"orders", "+@all", "~*", "&*")
	// The rights that replicas and sentinels need:
	// https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl
	redisDo(t, master.Addr, "ACL", "SETUSER", "default", "reset", "on", "nopass", "allchannels", "+psync", "+replconf", "+ping", "+multi", "+exec",
		"+slaveof", "+config|rewrite", "+client|setname", "+client|kill", "+script|kill", "+subscribe", "+publish", "+info", "+role")
	redisDo(t, sentinel, "ACL", "SETUSER", "default", "resetpass", ">"+marked+"sentinel")
	g := &guarded{state: t.TempDir(), config: filepath.Join(t.TempDir(), "config.yaml"), zk: conn}
	g.bare = []string{
		fmt.Sprintf("zk://%s/secure?admin=%s&admin_ca=%s", ensemble.Addr, admin, ca), fmt.Sprintf("redis+sentinel://%s/%s?name=orders", sentinel, servertest.SentinelMaster),
	}
	file, printed := filepath.Join(t.TempDir(), "redis"), filepath.Join(t.TempDir(), "orders")
	for name, secret := range map[string]string{file: "redis", printed: "orders"} {
		must.Succeed(t, os.WriteFile(name, []byte(marked+secret+"\n"), 0o600))
	}
	g.printed = printed
	text := fmt.Sprintf(`profiles: {p: {targets: [
		{url: "zk://%s/secure?admin=%s&admin_ca=%s", username: ops, password: %szk, admin: {username: viewer, password: %sadmin}},
		{url: "redis://%s", username: ops, password_file: %s},
		{url: "redis+sentinel://%s/%s?name=orders", username: orders, password_command: [cat, %s], sentinel: {password: %ssentinel}}]}}
`, ensemble.Addr, admin, ca, marked, marked, alone.Addr, file, sentinel, servertest.SentinelMaster, printed, marked)
	must.Succeed(t, os.WriteFile(g.config, []byte(text), 0o600))
	g.env = map[string]string{"XDG_STATE_HOME": g.state, "XDG_CONFIG_HOME": t.TempDir()}
	return g
}

func (g *guarded) run(t *testing.T, args ...string) outcome {
	t.Helper()
	return runIn(t, t.Context(), g.env, append(args, "--config", g.config, "-p", "p", "--timeout", "60s")...)
}

// Servers with different logins are read and acted on with the secrets of one profile. No secret is
// printed or stored.
func TestProfileSecretsDoNotLeak(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	t.Run("seen", func(t *testing.T) {
		must.Have(g.zk.CreateProtectedEphemeralSequential("/secure/a/lock-", nil, zk.AuthACL(zk.PermAll)))(t)
		got := g.run(t, "doctor", "-o", "json")
		if got.code != 0 || strings.Contains(got.stdout+got.stderr, marked) {
			t.Fatalf("doctor: %+v", got)
		}
		must.Contain(t, got.stdout, `"client": "127.0.0.1:`, "client from the AdminServer")
	})
	locks := []string{"zk:/secure/b", "redis:lock:b", "orders:lock:b"}
	g.staySecret(t, locks, func(args []string) []string { return append(args, "--config", g.config, "-p", "p") })
}

// The same with secrets from the environment.
func TestEnvironmentSecretsDoNotLeak(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	for name, value := range map[string]string{
		"LOCKSCOPE_ZK_AUTH": "digest:ops:" + marked + "zk", "LOCKSCOPE_ZK_ADMIN_USERNAME": "viewer", "LOCKSCOPE_ZK_ADMIN_PASSWORD": marked + "admin",
		"LOCKSCOPE_REDIS_USERNAME": "orders", "LOCKSCOPE_REDIS_PASSWORD": marked + "orders", "LOCKSCOPE_REDIS_SENTINEL_PASSWORD": marked + "sentinel",
	} {
		g.env[name] = value
	}
	g.staySecret(t, []string{"zk:/secure/b", "orders:lock:b"}, func(args []string) []string { return append(args, g.bare...) })
}

// staySecret runs every command that stores or prints something and searches all of it for secrets.
// with adds the targets to a command line.
func (g *guarded) staySecret(t *testing.T, locks []string, with func(args []string) []string) {
	t.Helper()
	places := map[string]string{}
	do := func(args ...string) outcome {
		t.Helper()
		var command []string
		if i := slices.Index(args, "--"); i >= 0 {
			args, command = args[:i:i], args[i:]
		}
		got := runIn(t, t.Context(), g.env, append(append(with(args), "--timeout", "60s"), command...)...)
		places["output"] += got.stdout
		places["errors"] += got.stderr
		return got
	}
	dir := t.TempDir()
	recording, archive := filepath.Join(dir, "seen.jsonl"), filepath.Join(dir, "ticket.tar.gz")
	do("record", recording, "--for", "1s")
	for _, lock := range locks {
		// COMMAND prints its environment and the arguments of every process.
		got := do("acquire", lock, "--wait", "60s", "--", "sh", "-c", "env; cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
		got.wants(t, 0, "LOCKSCOPE_LOCK="+lock, "", lock)
		do("release", lock, "--owner", "nobody", "--yes", "-o", "json").wants(t, app.ExitNo, "", "", "release of", lock)
	}
	must.Have(g.zk.CreateProtectedEphemeralSequential("/secure/b/lock-", nil, zk.AuthACL(zk.PermAll)))(t)
	if got := do("bundle", "zk:/secure/b", "--for", "300ms", "--to", archive); got.code != 0 {
		t.Fatalf("bundle: %+v", got)
	}
	for _, args := range [][]string{{"doctor", "--access"}, {"ls", "-o", "csv"}, {"show", "zk:/secure/b", "-o", "markdown"}, {"show", "zk:/secure/none"}} {
		do(args...)
	}
	unpack := exec.Command("sh", "-c", "tar -xzf ticket.tar.gz && gunzip ticket/*.gz")
	unpack.Dir = dir
	must.Succeed(t, unpack.Run())
	for _, file := range must.Have(filepath.Glob(filepath.Join(dir, "ticket", "*")))(t) {
		places["bundle: "+filepath.Base(file)] = string(must.Have(os.ReadFile(file))(t))
	}
	resp := must.Have(http.Get("http://" + exportingAt(t, g.env, with(nil)...) + "/metrics"))(t)
	defer resp.Body.Close()
	places["metrics"] = string(must.Have(io.ReadAll(resp.Body))(t))
	var spoken output
	linear := writingTo(&spoken, &spoken, g.env)
	linear.Stdin = strings.NewReader("list\nwrong\nquit\n")
	must.Equal(t, Main(t.Context(), append([]string{"--linear"}, with(nil)...), linear), 0, "exit code of --linear")
	places["linear"] = spoken.String()
	places["screen"] = g.onScreen(t, with(nil)...)
	for place, file := range map[string]string{"recording": recording, "audit": filepath.Join(g.state, "lockscope", "audit.jsonl")} {
		text, err := os.ReadFile(file)
		must.Be(t, err, nil)
		places[place] = string(text)
	}
	for place, text := range places {
		must.True(t, text != "", "empty:", place)
		if i := strings.Index(text, marked); i >= 0 {
			t.Errorf("a secret in the %s: …%s…", place, text[max(0, i-80):min(len(text), i+20)])
		}
	}
}

// onScreen returns everything written to a terminal by the screens Backends and Findings.
func (g *guarded) onScreen(t *testing.T, args ...string) string {
	t.Helper()
	path := must.Have(program())(t)
	cmd := exec.Command(path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}
	for name, value := range g.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	r := startInTerminal(t, 120, 36, cmd)
	r.awaitText("/secure/b")
	r.keys("b")
	r.awaitText("orders", "client sessions reported")
	r.keys("f")
	r.awaitText("replica-failover")
	r.keys("q")
	must.Equal(t, r.exit(), 0, "exit")
	return r.raw.String()
}

var password = regexp.MustCompile(marked + `\w+`)

// A refused password is reported with its user or variable, and not printed.
func TestRefusedSecretNamesItsUser(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	right := must.Have(os.ReadFile(g.config))(t)
	for _, tt := range []struct{ secret, says string }{
		{"admin", "user viewer"}, {"orders", `user "orders"`}, {"sentinel", "LOCKSCOPE_REDIS_SENTINEL_PASSWORD"},
	} {
		wrong, printed := strings.ReplaceAll(string(right), marked+tt.secret, marked+"wrong"), marked+"orders"
		if tt.secret == "orders" {
			printed = marked + "wrong"
		}
		must.Succeed(t, os.WriteFile(g.printed, []byte(printed), 0o600))
		must.Succeed(t, os.WriteFile(g.config, []byte(wrong), 0o600))
		got := g.run(t, "doctor")
		if got.code != app.ExitUnreachable || !strings.Contains(got.stdout+got.stderr, tt.says) || password.MatchString(got.stdout+got.stderr) {
			t.Errorf("%s: %+v, want %q", tt.secret, got, tt.says)
		}
	}
}
