package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/go-zookeeper/zk"

	"lockscope/internal/connect"
	"lockscope/internal/servertest"
	"lockscope/lockops"
)

// Each refusal is reported with the right that is missing and whose it is, not with the advice to log in.
func TestRefusalsNameTheRight(t *testing.T) {
	s := setup{targets: []connect.Target{
		{Service: connect.RedisMasters, Servers: []string{"r1:6379"}, Secrets: connect.Secrets{Login: connect.Credentials{Username: "ops"}}},
		{Service: connect.ZooKeeper, Servers: []string{"zk1:2181"}, Secrets: connect.Secrets{Login: connect.Credentials{Username: "keeper"}}},
	}}
	noPerm := func(what string) error { return errors.New("NOPERM this user has no permissions to " + what) }
	for _, tt := range []struct {
		err         error
		says, hides string
	}{
		{noPerm("run the 'exists' command"), "ACL SETUSER ops +exists", "LOCKSCOPE_"},
		{noPerm("run the 'client|setname' command"), "ACL SETUSER ops '+client|setname'", "LOCKSCOPE_"},
		{noPerm("access one of the keys used as arguments"), "'~KEY'", "LOCKSCOPE_"},
		{&lockops.DeniedError{Command: "set", Right: "+set", Err: noPerm("run the 'set' command")}, "ACL SETUSER ops +set", "…"},
		{fmt.Errorf("the user may not run GET (grant +get): %w", noPerm("run the 'get' command")), "as user ops", "ACL SETUSER"},
		{errors.New("WRONGPASS invalid"), "set LOCKSCOPE_REDIS_USERNAME", "ACL"},
		{errors.New("sentinel s1: WRONGPASS invalid (set LOCKSCOPE_REDIS_SENTINEL_PASSWORD)"), "SENTINEL_PASSWORD", "as user"},
		{fmt.Errorf("create /locks: %w", zk.ErrNoAuth), "grant READ, CREATE and DELETE", "ACL"},
		{fmt.Errorf("create /locks: %w", zk.ErrNoAuth), "server zk1:2181, as user keeper", "r1"},
		{errors.New("WRONGPASS invalid"), "server r1:6379, as user ops", "zk1"},
		{fmt.Errorf("list /locks: %w: grant READ on /locks", zk.ErrNoAuth), "set LOCKSCOPE_ZK_AUTH", "CREATE"},
		{errors.New("connection refused"), "connection refused", "as user"},
	} {
		err := s.explain(exit(exitNo, "%w", tt.err))
		if text := err.Error(); !strings.Contains(text, tt.says) || strings.Contains(text, tt.hides) || !strings.Contains(text, "(") && strings.Contains(text, "as user") {
			t.Errorf("%v: reported as %q, want %q in it and not %q", tt.err, text, tt.says, tt.hides)
		}
		if exitCode(err) != exitNo || !errors.Is(err, tt.err) {
			t.Errorf("%v: exit code %d", err, exitCode(err))
		}
	}
}

// An action by way of Sentinels names those that refused, and a master that they do not know.
func TestActingThroughSentinelsNamesTheirTrouble(t *testing.T) {
	t.Parallel()
	sentinel := servertest.StartEmbeddedRedis(t)
	err := sentinel.Mini.Server().Register("SENTINEL", func(c *server.Peer, _ string, _ []string) { c.WriteError("NOAUTH Authentication required.") })
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"acquire", "redis:lock:a", "--wait", "0"}, {"contend", "redis:lock:a", "-n", "1", "--rounds", "1"}} {
		o := run(t, append(args, "redis+sentinel://"+sentinel.Addr+"/mymaster")...)
		if o.code != exitUnreachable || !strings.Contains(o.stderr, "LOCKSCOPE_REDIS_SENTINEL_PASSWORD") || strings.Contains(o.stderr, "unreachable") {
			t.Errorf("%s: exit %d: %s", args[0], o.code, o.stderr)
		}
	}
}

// What several Sentinels say stands on one line, in tables, JSON and on standard error.
func TestTheErrorsOfSeveralSentinelsAreOneLine(t *testing.T) {
	t.Parallel()
	target := "redis+sentinel://127.0.0.1:1,127.0.0.1:2/mymaster"
	for _, args := range [][]string{
		{"ls"},
		{"ls", "-o", "json"},
		{"doctor"},
		{"doctor", "--access"},
		{"acquire", "redis:lock:a", "--wait", "0"},
		{"release", "redis:lock:a", "--owner", "x", "--yes"},
	} {
		o := run(t, append(args, target)...)
		said := o.stdout + o.stderr
		if o.code == 0 || strings.Contains(said, "u{a}") || !strings.Contains(said, "sentinel 127.0.0.1:1: connection refused; sentinel 127.0.0.1:2: connection refused") {
			t.Errorf("%v: exit %d: %s", args, o.code, said)
		}
	}
}

// A script's digest and line, and the words of Go for a limit, are no news for who typed a command.
func TestErrorsAreOfTheDomain(t *testing.T) {
	got := inWords("acquire a: context deadline exceeded (r1:6379: READONLY You can't write against a read only replica. script: 527d720f604208d1206b60f89dcd28bf21a75d9f, on @user_script:30.)")
	if want := "acquire a: not done in time (r1:6379: READONLY You can't write against a read only replica.)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := withCheck("master r1:6379: keys cannot be looked for: ERR DB index is out of range"); strings.Contains(got, "check the address") {
		t.Errorf("of a server that answers: %q", got)
	}
	for text, want := range map[string]string{
		"master r1:6379: LOADING Redis is loading": "master r1:6379: LOADING Redis is loading (it reads its data into memory: wait until it has)",
		"master r1:6379: MASTERDOWN Link; master r2:6379: connection refused": "master r1:6379: MASTERDOWN Link (it is a replica without a link to its master: look after that link, or give the master instead); " +
			"master r2:6379: connection refused (check the address, and that the server runs)",
		"master r2:6379: connection refused; master r1:6379: ERR max number of clients reached": "master r2:6379: connection refused; " +
			"master r1:6379: ERR max number of clients reached (its connections are used up: see who has them (CLIENT LIST), or raise maxclients)",
		"master r1:6379: connection refused": "master r1:6379: connection refused (check the address, and that the server runs)",
	} {
		if got := withCheck(text); got != want {
			t.Errorf("%q", got)
		}
	}
}

// What a server replied decides, not what a lock is called.
func TestALockIsRefusedByAReplyAlone(t *testing.T) {
	denied := &lockops.DeniedError{Command: "set", Err: errors.New("NOPERM no permissions to run the 'set' command")}
	for name, tt := range map[string]struct {
		err  error
		code int
	}{
		"a command":               {fmt.Errorf("redis:lock:a: %w", denied), exitNo},
		"one of several":          {errors.Join(errors.New("r1:6379: no answer in time"), denied), exitNo},
		"a node":                  {fmt.Errorf("zk:/a: %w", zk.ErrNoAuth), exitNo},
		"a lock that is named so": {errors.New("redis:lock:NOPERM: r1:6379: connection refused"), exitUnreachable},
		"a login":                 {errors.New("WRONGPASS invalid username-password pair"), exitUnreachable},
	} {
		if code := notTaken(tt.err); code != tt.code {
			t.Errorf("%s: exit %d, want %d", name, code, tt.code)
		}
	}
}

// A directory that anybody may make nodes in, and nobody but its owner reads the access list of, refuses the
// lock to this account.
func TestADirectoryWhoseListIsHiddenRefusesTheLock(t *testing.T) {
	t.Parallel()
	server := servertest.StartZooKeeper(t)
	owner, _, err := zk.Connect([]string{server.Addr}, 30*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	if err := owner.AddAuth("digest", []byte("app:s")); err != nil {
		t.Fatal(err)
	}
	own := zk.DigestACL(zk.PermAll, "app", "s")
	for path, more := range map[string]int32{"/hidden": zk.PermCreate, "/digests": zk.PermCreate | zk.PermRead} {
		if _, err := owner.Create(path, nil, 0, slices.Concat(own, zk.WorldACL(more))); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"acquire", "zk:" + path + "/a", "--wait", "0"}, {"contend", "zk:" + path + "/a", "-n", "1", "--rounds", "1"}} {
			if got := run(t, append(command, "zk://"+server.Addr)...); got.code != exitNo || !strings.Contains(got.stderr, "--acl") {
				t.Errorf("%s %s: %+v", command[0], path, got)
			}
		}
	}
}
