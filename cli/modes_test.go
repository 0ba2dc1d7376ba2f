package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// mode is one of the set-ups in docs/operating.md, and how to reach its servers.
type mode struct {
	target string            // its name is "it"
	lock   string            // path of a lock
	env    map[string]string // the secrets of an account with rights to act
}

// reach runs a command line, with the mode's secrets if login is set.
func (m mode) reach(t *testing.T, ctx context.Context, login bool, args ...string) outcome {
	t.Helper()
	env := home(t)
	for name, value := range m.env {
		if login {
			env[name] = value
		}
	}
	return runIn(t, ctx, env, append(args, m.target, "--timeout", "60s")...)
}

// answered repeats reach while the servers do not answer. A command gives up after two dials of a
// second, which a TLS handshake on a busy machine may exceed.
func (m mode) answered(t *testing.T, ctx context.Context, args ...string) outcome {
	t.Helper()
	for {
		if got := m.reach(t, ctx, true, args...); ctx.Err() != nil || got.code != app.ExitUnreachable || !strings.Contains(got.stderr+got.stdout, "no answer in time") {
			return got
		}
	}
}

// check takes a lock, finds its holder, and releases it by force, which the holder notices. Without
// the secrets the servers are unreachable.
func (m mode) check(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	held := make(chan outcome, 1)
	go func() { held <- m.answered(t, ctx, "acquire", "it:"+m.lock, "--label", "worker", "-o", "jsonl") }()
	name := ""
	for name == "" {
		select {
		case got := <-held:
			t.Fatalf("acquire: %+v", got)
		default:
		}
		for _, l := range parse(t, m.answered(t, ctx, "ls", "-o", "json").stdout).Locks {
			if l.ID == "it:"+m.lock && len(l.Holders) > 0 {
				name = l.Holders[0].Name
			}
		}
	}
	m.answered(t, ctx, "doctor", "--fail-on", "critical").wants(t, 0, "", "", "doctor")
	m.answered(t, ctx, "release", "it:"+m.lock, "--owner", name, "--yes").wants(t, 0, "", "", "release")
	(<-held).wants(t, app.ExitLost, "", "", "the released holder")
	if got := m.reach(t, ctx, false, "doctor"); len(m.env) > 0 && got.code != app.ExitUnreachable {
		t.Errorf("without a login: %+v", got)
	}
}

// operator creates an account with the line that doctor --access prints for acting, on each
// server's plain port. It keeps the rights that servers need among themselves, and returns the
// account's secrets.
func operator(t *testing.T, target string, servers ...*servertest.Redis) map[string]string {
	t.Helper()
	got := run(t, "doctor", "--access", target)
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for _, s := range servers {
		redisDo(t, s.Addr, line(t, got.stdout, "to act:")...)
		redisDo(t, s.Addr, strings.Fields("ACL SETUSER default reset on nopass allchannels +psync +replconf +ping +multi +exec "+
			"+slaveof +config|rewrite +client|setname +client|kill +script|kill +subscribe +publish +info +role")...)
	}
	return map[string]string{"LOCKSCOPE_REDIS_USERNAME": "operator", "LOCKSCOPE_REDIS_PASSWORD": marked + "x"}
}

// withCertificate returns the options of a target whose servers require a certificate.
func withCertificate(c servertest.Certificates) string {
	return fmt.Sprintf("name=it&ca=%s&cert=%s&key=%s", c.CA, c.Cert, c.Key)
}

func TestRedisWithPasswordAndDatabase(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	server := servertest.StartRedis(t, "--unixsocket", socket)
	redisDo(t, server.Addr, "CONFIG", "SET", "requirepass", marked+"p") // not as an argument, since another test looks for passwords in the process list
	env := map[string]string{"LOCKSCOPE_REDIS_PASSWORD": marked + "p"}
	for _, target := range []string{"redis://" + server.Addr + "/3?name=it", "redis+unix://" + socket + "?name=it"} {
		mode{target: target, lock: "lock:a", env: env}.check(t)
	}
}

func TestMastersWithCertificateAndAccount(t *testing.T) {
	t.Parallel()
	c := servertest.NewCertificates(t)
	var servers []*servertest.Redis
	var secure []string
	for range 3 {
		s, at := servertest.StartRedisTLS(t, c, "--tls-auth-clients", "yes")
		servers, secure = append(servers, s), append(secure, at)
	}
	target := "rediss://" + strings.Join(secure, ",") + "?" + withCertificate(c)
	env := operator(t, target, servers...)
	mode{target: target, lock: "lock:redlock", env: env}.check(t)
	mode{target: "rediss://" + secure[0] + "?" + withCertificate(c), lock: "lock:one", env: env}.check(t)
	plain := mode{target: "redis://" + secure[0] + "?name=it", env: env}
	if got := plain.reach(t, t.Context(), true, "doctor"); got.code != app.ExitUnreachable || !strings.Contains(got.stdout+got.stderr, "TLS") {
		t.Errorf("a TLS port without TLS: %+v", got)
	}
}

func TestASentinelWithCertificatesAndAccounts(t *testing.T) {
	t.Parallel()
	c := servertest.NewCertificates(t)
	sentinel, secure, master := servertest.StartRedisSentinelTLS(t, c)
	target := "rediss+sentinel://" + secure + "/" + servertest.SentinelMaster + "?" + withCertificate(c)
	sentinelWords := line(t, run(t, "doctor", "--access", target).stdout, "on each sentinel, if they have accounts:")
	env := operator(t, target, master)
	redisDo(t, sentinel.Addr, sentinelWords...)
	redisDo(t, sentinel.Addr, "ACL", "SETUSER", "default", "off")
	env["LOCKSCOPE_REDIS_SENTINEL_USERNAME"], env["LOCKSCOPE_REDIS_SENTINEL_PASSWORD"] = "lockscope", marked+"x"
	mode{target: target, lock: "lock:a", env: env}.check(t)
}

func TestAClusterWithCertificatesAndAccounts(t *testing.T) {
	t.Parallel()
	c := servertest.NewCertificates(t)
	nodes, secure := servertest.StartRedisClusterTLS(t, c, 3)
	target := "rediss+cluster://" + secure[0] + "?" + withCertificate(c)
	env := operator(t, target, nodes...)
	for _, lock := range []string{"lock:a", "lock:b", "lock:c"} { // on different nodes: slots 14001, 1874, 6003
		mode{target: target, lock: lock, env: env}.check(t)
	}
	mode{target: "redis+cluster://" + nodes[1].Addr + "?name=it", lock: "lock:plain", env: env}.check(t)
}

func TestSecuredZooKeeperWithChroot(t *testing.T) {
	t.Parallel()
	c := servertest.NewCertificates(t)
	server, secure := servertest.StartZooKeeperTLS(t, c)
	conn := servertest.ConnectZooKeeper(t, server.Addr, 30*time.Second)
	// The certificate's subject is the identity, as in the server's X509AuthenticationProvider.
	byCertificate := []zk.ACL{{Perms: zk.PermAll, Scheme: "x509", ID: "CN=localhost"}}
	for _, node := range []struct {
		path string
		list []zk.ACL
	}{
		{"/apps", zk.WorldACL(zk.PermAll)},
		{"/apps/shop", zk.WorldACL(zk.PermAll)},
		{"/apps/shop/digest", zk.DigestACL(zk.PermAll, "ops", marked+"zk")},
		{"/apps/shop/x509", byCertificate},
		{"/apps/shop/mixed", append(zk.DigestACL(zk.PermAll, "ops", marked+"zk"), zk.ACL{Perms: zk.PermAll &^ zk.PermAdmin, Scheme: "x509", ID: "CN=localhost"})},
	} {
		must.Have(conn.Create(node.path, nil, 0, node.list))(t)
	}
	admin, ca := adminBehindLogin(t, server.Admin, "viewer", marked+"admin")
	options := "&chroot=/apps/shop&admin=" + admin + "&admin_ca=" + ca
	env := map[string]string{"LOCKSCOPE_ZK_AUTH": "digest:ops:" + marked + "zk", "LOCKSCOPE_ZK_ADMIN_USERNAME": "viewer", "LOCKSCOPE_ZK_ADMIN_PASSWORD": marked + "admin"}
	mode{target: "zks://" + secure + "/digest?" + withCertificate(c) + options, lock: "/digest/a", env: env}.check(t)
	mode{target: "zk://" + server.Addr + "/digest?name=it" + options, lock: "/digest/b", env: env}.check(t)
	mode{target: "zks://" + secure + "/x509?" + withCertificate(c) + "&chroot=/apps/shop", lock: "/x509/a"}.check(t)
	// A client with a certificate does not see digests, so it cannot give the same access list to
	// its nodes.
	mixed := mode{target: "zks://" + secure + "/mixed?" + withCertificate(c) + "&chroot=/apps/shop", lock: "/mixed/a"}
	mixed.check(t)
	if list, _, err := conn.GetACL("/apps/shop/mixed/a"); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("others can read the new node: %v, %v", list, err)
	}
	got := mixed.reach(t, t.Context(), true, "doctor", "--access")
	if got.code != 0 || !strings.Contains(got.stdout, "as user its client certificate: ") || !strings.Contains(got.stdout, "may act: unknown") {
		t.Errorf("doctor --access: %+v", got)
	}
	anonymous := mode{target: "zk://" + server.Addr + "/x509?name=it&chroot=/apps/shop"}
	if got := anonymous.reach(t, t.Context(), true, "acquire", "it:/x509/a", "--wait", "0"); got.code == 0 {
		t.Errorf("without the certificate: %+v", got)
	}
}
