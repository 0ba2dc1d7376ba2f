package cli

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/servertest"
)

// Without scripts no lock can be released: the preview and doctor --access say so, and name the command.
func TestAServerWithoutScriptsCannotBeActedOn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		rule []string
		want string
	}{
		"EVALSHA renamed": {args: []string{"--rename-command", "EVALSHA", ""}, want: "the server has no EVALSHA"},
		"EVAL renamed":    {args: []string{"--rename-command", "EVAL", "hidden"}, want: "the server has no EVAL"},
		"EVAL denied":     {rule: []string{"acl", "setuser", "default", "-eval"}, want: "denies EVAL to this user (grant +eval)"},
		"scripts allowed": {},
	} {
		m := servertest.StartRedis(t, tt.args...)
		redisDo(t, m.Addr, "set", "lock:a", "worker-3")
		if tt.rule != nil {
			redisDo(t, m.Addr, tt.rule...)
		}
		target := "redis://" + m.Addr
		access := run(t, "doctor", "--access", target)
		if got := strings.Contains(access.stdout, "may act: no, "+tt.want); got != (tt.want != "") || tt.want == "" && !strings.Contains(access.stdout, "may act: yes") {
			if !strings.Contains(access.stdout, "may act: no, its ACL "+tt.want) {
				t.Errorf("%s: %+v", name, access)
			}
		}
		for _, command := range [][]string{{"release"}, {"ttl", "--set", "1m"}} {
			preview := run(t, append(command, "redis:lock:a", target, "--owner", "worker-3", "--dry-run")...)
			if got := strings.Contains(preview.stdout+preview.stderr, tt.want); !got || (preview.code == 0) != (tt.want == "") {
				t.Errorf("%s: %s: %+v", name, command, preview)
			}
		}
	}
}
