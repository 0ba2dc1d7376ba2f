package cli

import (
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/servertest"
)

// TestLsFilters: ls lists what the screen's filter shows: the end of a token finds its lock among those of
// one library; what matches nothing, and what cannot be read, is said.
func TestLsFilters(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	target := "redis://" + server.Addr
	redisDo(t, server.Addr, "SET", "lock:a", "c2FmZQ-9f3a", "PX", "600000")
	redisDo(t, server.Addr, "SET", "lock:b", "c2FmZQ-77aa", "PX", "600000")
	for _, output := range []string{"table", "wide", "json", "csv"} {
		got := run(t, "ls", target, "--filter", "token=9F3A held", "-o", output)
		if got.code != 0 || !strings.Contains(got.stdout, "redis:lock:a") || strings.Contains(got.stdout, "lock:b") {
			t.Errorf("%s: %+v", output, got)
		}
	}
	if got := run(t, "ls", target, "--filter", "token=9f"); got.code != 0 || !strings.Contains(got.stderr+got.stdout, "none of 2 locks matches") {
		t.Errorf("not its end: %+v", got)
	}
	if got := run(t, "ls", target, "--filter", "colour=red"); got.code != app.ExitUsage || !strings.Contains(got.stderr, "no field") {
		t.Errorf("%+v", got)
	}
}

// TestShowSaysWhoHasRights: show has a contender's access list where it names somebody.
func TestShowSaysWhoHasRights(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	conn, events, err := zk.Connect([]string{server.Addr}, 10_000_000_000, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		conn.Close()
		for range events {
		}
	}()
	if err := conn.AddAuth("digest", []byte("billing:secret")); err != nil {
		t.Fatal(err)
	}
	create := func(p string, flags int32, acl []zk.ACL) {
		if _, err := conn.Create(p, nil, flags, acl); err != nil {
			t.Fatal(err)
		}
	}
	const node = "/0123456789abcdef0123456789abcdef__lock__"
	for _, dir := range []string{"/own", "/open"} {
		create(dir, 0, zk.WorldACL(zk.PermAll))
	}
	create("/own"+node, zk.FlagEphemeral|zk.FlagSequence, append(zk.AuthACL(zk.PermAll), zk.WorldACL(zk.PermRead)...))
	create("/open"+node, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	target := "zk://" + server.Addr
	if got := run(t, "show", "zk:/own", target); got.code != 0 || !strings.Contains(got.stdout, "ACCESS") || !strings.Contains(got.stdout, "digest billing (cdrwa), anyone (r)") {
		t.Errorf("%+v", got)
	}
	if got := run(t, "show", "zk:/own", target, "-o", "json"); !strings.Contains(got.stdout, `"scheme": "digest"`) || strings.Contains(got.stdout, "secret") {
		t.Errorf("%+v", got)
	}
	if got := run(t, "show", "zk:/open", target); got.code != 0 || strings.Contains(got.stdout, "ACCESS") {
		t.Errorf("%+v", got)
	}
}
