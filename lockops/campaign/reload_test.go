//go:build unix

package campaign

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestReloadWhileLoading strikes a master with the LOADING fault while it loads its append-only file after a
// restart: no client may find an acknowledged key missing.
func TestReloadWhileLoading(t *testing.T) {
	// 0.1 ms for each command in the file. Redis looks at its clients once in 1024 of them.
	master, _ := redisMaster(t, "--appendfsync", "no", "--key-load-delay", "100")
	c := redis.NewClient(&redis.Options{Addr: master.Addr, MaxRetries: -1, Protocol: 2, DisableIdentity: true}) // no commands of the client itself
	defer c.Close()
	if _, err := c.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range 20 * 1024 {
			p.Set(t.Context(), "counter", i, 0)
		}
		p.Set(t.Context(), "lock", "ours", 0) // the last that is loaded
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
			t.Fatalf("after %d refusals, while the master loads, the key is %s", refused, value)
		case refused == 0:
			t.Fatal("the master never refused: it was not loading")
		default:
			return
		}
	}
}
