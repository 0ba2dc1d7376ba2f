//go:build unix

package campaign

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A master gets the LOADING fault while it loads its append-only file after a restart. No client may
// find an acknowledged key missing.
func TestReloadWhileLoading(t *testing.T) {
	// 0.1 ms for each command in the file. Redis serves clients once per 1024 commands.
	master, _ := redisMaster(t, "--appendfsync", "no", "--key-load-delay", "100")
	c := redis.NewClient(&redis.Options{Addr: master.Addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true}) // sends only our commands
	defer c.Close()
	if _, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range 20 * 1024 {
			p.Set(t.Context(), "counter", i, 0)
		}
		p.Set(t.Context(), "lock", "ours", 0) // loaded last
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	master.Restart(t)
	for refused := 0; ; {
		reload(t, master.Addr)
		value, err := c.Eval(t.Context(), "return tostring(redis.call('GET', KEYS[1]))", []string{"lock"}).Text()
		switch {
		case err != nil && strings.HasPrefix(err.Error(), "LOADING"):
			refused++
		case err != nil:
			t.Fatal(err)
		case value != "ours":
			t.Fatalf("after %d refusals by the loading master, the key is %s", refused, value)
		case refused == 0:
			t.Fatal("the master never refused: it was not loading")
		default:
			return
		}
	}
}
