package look

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
)

// zkAll is an access list that grants everything to one id.
func zkAll(scheme, id string) []zk.ACL { return []zk.ACL{{Perms: zk.PermAll, Scheme: scheme, ID: id}} }

func TestAccessListsDecideWhoMayAct(t *testing.T) {
	login := connect.Credentials{Username: "ops", Password: "s"}
	digest := zk.DigestACL(zk.PermAll, "ops", "s")
	for name, tt := range map[string]struct {
		list  []zk.ACL
		login connect.Credentials
		may   string
	}{
		"open":           {zk.WorldACL(zk.PermAll), connect.Credentials{}, "yes"},
		"read only":      {zk.WorldACL(zk.PermRead), login, "no"},
		"create only":    {zk.WorldACL(zk.PermCreate), login, "no"},
		"ours":           {digest, login, "yes"},
		"nobody's":       {digest, connect.Credentials{}, "no"},
		"other password": {digest, connect.Credentials{Username: "ops", Password: "x"}, "no"},
		"hidden digest":  {zkAll("digest", "ops:x"), login, "yes"},
		"by address":     {zkAll("ip", "10.0.0.0/8"), login, "unknown"},
		"by certificate": {zkAll("x509", "CN=you,O=us"), login, "unknown"}, // may be our certificate
		"in two entries": {append(zk.WorldACL(zk.PermCreate), zk.DigestACL(zk.PermDelete, "ops", "s")...), login, "yes"},
	} {
		must.Equal(t, allowed(tt.list, tt.login).May, tt.may, name)
	}
}

// Every command of the scripts is among the rights for acting.
func TestActingRightsCoverScriptCommands(t *testing.T) {
	_, act := redisLines(connect.Target{}, &inspect.Backend{Servers: []inspect.Server{{Version: "7.0.15"}}})
	words := strings.Fields(act[0])
	n := 0
	for _, dir := range []string{"../../lockops/lua", "../../lockops/act/lua"} {
		files := must.Have(filepath.Glob(filepath.Join(dir, "*.lua")))(t)
		for _, file := range files {
			text := must.Have(os.ReadFile(file))(t)
			for _, m := range scriptCommand.FindAllStringSubmatch(string(text), -1) {
				n++
				must.True(t, slices.Contains(words, "+"+strings.ToLower(m[1])), file, m[1], "is missing among the rights")
			}
		}
	}
	must.True(t, n >= 20, "only", n, "commands found in the scripts")
	view, _ := redisLines(connect.Target{}, &inspect.Backend{Servers: []inspect.Server{{Version: "6.2.1"}}})
	must.True(t, !strings.Contains(view[0], "%R~"), "Redis 6 has no read-only key patterns:", view[0])
}

var scriptCommand = regexp.MustCompile(`call\('([A-Z]+)'`)
