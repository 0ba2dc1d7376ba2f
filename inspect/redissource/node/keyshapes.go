package node

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// DeadAfter is how long an entry must look dead before it is reported as dead. Between two
// commands of a library, a live entry may look dead for a moment.
const DeadAfter = 300 * time.Millisecond

// shape describes a key that is more than a plain string. It decides which commands read the key.
type shape struct {
	kind    recipe.KeyType
	hint    string
	queries []recipe.Query
}

func (s shape) plain() bool {
	return s.kind == recipe.TypeString && s.hint == "" && len(s.queries) == 0
}

// typedKeys remembers the shapes of a master's keys that are more than plain strings, so that one
// round trip reads them.
type typedKeys struct {
	mu     sync.Mutex
	shapes map[string]shape
	// subscribers has the last count of each channel on which waiters are woken.
	subscribers map[string]int
	// suspects maps entries that look dead to when they first did.
	suspects map[string]time.Time
	// noShards is set if the server does not support sharded channels.
	noShards atomic.Bool
	// named is the only key to read, if a user named one. patient waits to confirm dead entries.
	named   string
	patient bool
}

// watched returns the locks whose waiters subscribe to channels, by channel, and the last counts.
func (t *typedKeys) watched() (locks map[string]string, subscribers map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	locks = map[string]string{}
	for key, s := range t.shapes {
		for _, query := range s.queries {
			if _, counted := t.subscribers[query.Key]; counted {
				locks[query.Key] = key
			}
		}
	}
	return locks, maps.Clone(t.subscribers)
}

func (t *typedKeys) count(channel string, subscribers int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.subscribers == nil || len(t.subscribers) > maxRemembered {
		t.subscribers = map[string]int{}
	}
	t.subscribers[channel] = subscribers
}

// maxRemembered bounds the remembered shapes of a master's keys. Beyond it, all are forgotten and
// learned again.
const maxRemembered = 100_000

func (t *typedKeys) shape(key string) shape {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.shapes[key]; ok {
		return s
	}
	return shape{kind: recipe.TypeString}
}

// Cost returns roughly how many commands it takes to read a key.
func (m *Master) Cost(key string) int {
	n := 2
	for _, query := range m.typed.shape(key).queries {
		if n++; query.Type != recipe.TypeList && query.Type != recipe.TypeChannel {
			n++ // its TTL
		}
	}
	return n
}

func (t *typedKeys) remember(key string, s shape) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.plain() {
		delete(t.shapes, key)
		return
	}
	if t.shapes == nil || len(t.shapes) > maxRemembered {
		t.shapes = map[string]shape{}
	}
	t.shapes[key] = s
}

// LockKeys maps keys to the keys of their locks: helper keys become their locks, and noise is
// dropped. others are further keys that a helper key may belong to; they matter only if they are
// already known as locks.
func (m *Master) LockKeys(keys []string) (locks, others []string) {
	locks = make([]string, 0, len(keys))
	for _, key := range keys {
		name, helped, helper := recipe.LockOf(key)
		if !helper {
			locks = append(locks, key)
			continue
		}
		for i, lock := range helped {
			if i > 0 {
				others = append(others, lock)
				continue
			}
			if s := m.typed.shape(lock); s.hint == "" {
				s.hint = name
				m.typed.remember(lock, s)
			}
			locks = append(locks, lock)
		}
	}
	return locks, others
}

// doubt reports entries as alive until they have looked dead for a while.
func (t *typedKeys) doubt(key string, r *recipe.Record, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range r.Claims {
		c := &r.Claims[i]
		id := key + "\x00" + c.Name
		since, suspect := t.suspects[id]
		switch {
		case !c.Dead:
			delete(t.suspects, id)
		case !suspect:
			if t.suspects == nil || len(t.suspects) > maxRemembered {
				t.suspects = map[string]time.Time{}
			}
			t.suspects[id] = now
			c.Dead, r.Doubtful = false, true
		case now.Sub(since) < DeadAfter:
			c.Dead, r.Doubtful = false, true
		}
	}
}
