package act

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// A holder of rueidislock's three keys that has lost two of them since the preview no longer holds the lock: the
// third key stays, whichever it is, and the report says so.
func TestAHolderThatLostItsMajorityOfKeysIsNotReleased(t *testing.T) {
	t.Parallel()
	_, client, releaser := onOneMaster(t)
	const value = "0123456789abcdefghijklmn"
	keys := []string{"rueidislock:0:a", "rueidislock:1:a", "rueidislock:2:a"}
	for _, left := range keys {
		for _, key := range keys {
			client.Set(t.Context(), key, value, time.Hour)
		}
		p := confirmed(t, releaser, Request{ID: inspect.ID{Backend: "redis", Path: keys[0]}, Owner: value})
		for _, key := range keys {
			if key != left {
				client.Del(t.Context(), key)
			}
		}
		result, err := releaser.Execute(t.Context(), p, "typed")
		if err != nil || result.Released || result.Reason != Changed || client.Get(t.Context(), left).Val() != value {
			t.Errorf("%s is left: %+v, %v", left, result, err)
		}
	}
}
