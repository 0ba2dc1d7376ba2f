package redissource_test

import (
	"context"
	"testing"
	"time"

	"lockscope/inspect"
	"lockscope/internal/servertest"
)

// A server pushes no key when two of its databases change places, whatever stood in them.
func TestDatabasesThatChangePlacesAreNoticed(t *testing.T) {
	for name, tt := range map[string]struct {
		info string // the right to it
		gone bool   // a key is in the first only
	}{
		"by its own count":                    {"+info", false},
		"without INFO, by a key that is gone": {"-info", true},
		"by whatever comes first":             {"+info", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := servertest.StartRedis(t)
			c, ctx := client(t, m), context.Background()
			for _, words := range [][]any{
				{"acl", "setuser", "viewer", "on", ">pw", "allkeys", "allchannels", "+@all", tt.info},
				{"set", "lock:both", "second"},
				{"copy", "lock:both", "lock:both", "db", 1},
				{"copy", "lock:both", "lock:came", "db", 1},
				{"set", "lock:both", "first"},
			} {
				if err := c.Do(ctx, words...).Err(); err != nil {
					t.Fatal(words, err)
				}
			}
			if tt.gone {
				set(t, m, "lock:gone", "x", 0)
			}
			cfg := pushConfig(m)
			cfg.Budget.ScanEvery = 100 * time.Millisecond
			cfg.Timeout = 6 * time.Second // a busy machine is to lose no connection, by which all is read anew
			cfg.Masters[0].Username, cfg.Masters[0].Password = "viewer", "pw"
			v, _ := watch(t, cfg)
			awaitPush(v)
			v.Await("as it was", func() bool {
				return holder(v, "lock:both", "first")() && (!tt.gone || state(v, "lock:gone", inspect.StateHeld)())
			})
			set(t, m, "lock:marker", "x", 0) // is read after all that was to be read since it pushes
			v.Await("nothing is left to read", state(v, "lock:marker", inspect.StateHeld))
			if err := c.Do(ctx, "swapdb", 0, 1).Err(); err != nil {
				t.Fatal(err)
			}
			swapped := time.Now()
			v.Await("that nobody saw it", func() bool { return v.Gap != nil })
			v.Await("what the other database has", func() bool {
				return holder(v, "lock:both", "second")() && (!tt.gone || state(v, "lock:gone", inspect.StateFree)())
			})
			v.Await("a key that came with it", state(v, "lock:came", inspect.StateHeld))
			peek(v, func() {
				if v.Gap.From.After(swapped) || v.Gap.Until.Before(swapped) {
					t.Errorf("swapped by %v, the gap is %+v", swapped, v.Gap)
				}
				// A reading that was answered before the swap may be taken in after it.
				if at := v.Locks["lock:both"].UnseenSince; at.IsZero() || !at.Before(v.Gap.Until) {
					t.Errorf("it changed, unseen, after %v; gap %+v", at, v.Gap)
				}
			})
		})
	}
}
