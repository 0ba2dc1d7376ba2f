package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/lockops"
)

// A refusal is reported with the missing right and the user, not with advice to log in.
func TestRefusalsNameTheRight(t *testing.T) {
	s := Setup{Targets: []connect.Target{
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
		err := s.Explain(Exitf(ExitNo, "%w", tt.err))
		if text := err.Error(); !strings.Contains(text, tt.says) || strings.Contains(text, tt.hides) || !strings.Contains(text, "(") && strings.Contains(text, "as user") {
			t.Errorf("%v: reported as %q, want %q in it and not %q", tt.err, text, tt.says, tt.hides)
		}
		if ExitCode(err) != ExitNo || !errors.Is(err, tt.err) {
			t.Errorf("%v: exit code %d", err, ExitCode(err))
		}
	}
}

// Errors omit a script's digest and line number, and rephrase Go's deadline messages.
func TestErrorsOmitScriptsAndGoTerms(t *testing.T) {
	got := inWords("acquire a: context deadline exceeded (r1:6379: READONLY You can't write against a read only replica. script: 527d720f604208d1206b60f89dcd28bf21a75d9f, on @user_script:30.)")
	must.Equal(t, got, "acquire a: timed out (r1:6379: READONLY You can't write against a read only replica.)")
	if got := withCheck("master r1:6379: ERR DB index is out of range"); strings.Contains(got, "check the address") {
		t.Errorf("for a server that answers: %q", got)
	}
	for text, want := range map[string]string{
		"master r1:6379: LOADING Redis is loading": "master r1:6379: LOADING Redis is loading (it is loading its data into memory: wait until it has finished)",
		"master r1:6379: MASTERDOWN Link; master r2:6379: connection refused": "master r1:6379: MASTERDOWN Link (it is a replica without a link to its master: repair that link, or use the master instead); " +
			"master r2:6379: connection refused (check the address, and that the server is running)",
		"master r2:6379: connection refused; master r1:6379: ERR max number of clients reached": "master r2:6379: connection refused; " +
			"master r1:6379: ERR max number of clients reached (its connections are used up: see who has them (CLIENT LIST), or raise maxclients)",
		"master r1:6379: connection refused": "master r1:6379: connection refused (check the address, and that the server is running)",
	} {
		must.Equal(t, withCheck(text), want)
	}
}
