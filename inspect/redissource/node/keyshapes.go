package node

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// DeadAfter is how long an entry has to look dead before it is reported as dead: between a library's
// commands it may look dead for a moment.
const DeadAfter = 300 * time.Millisecond

// shape of a key that is more than a plain string, which decides the commands that read it.
type shape struct {
	kind    recipe.KeyType
	hint    string
	queries []recipe.Query
}

func (s shape) plain() bool {
	return s.kind == recipe.TypeString && s.hint == "" && len(s.queries) == 0
}

// typedKeys remembers the shapes of a master's keys that are more than plain strings, so that they take one round trip.
type typedKeys struct {
	mu     sync.Mutex
	shapes map[string]shape
	// subscribers of the channels on which locks wake their waiters, when they were last counted.
	subscribers map[string]int
	// suspects are entries that looked dead, and since when.
	suspects map[string]time.Time
	// noShards: the server does not know sharded channels.
	noShards atomic.Bool
	// named is the one key that a user asked for; patient waits to confirm what looks dead.
	named   string
	patient bool
}

// watched are the locks whose waiters subscribe to channels, by channel, with the subscribers so far.
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

// count keeps the subscribers of a channel.
func (t *typedKeys) count(channel string, subscribers int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.subscribers == nil || len(t.subscribers) > maxRemembered {
		t.subscribers = map[string]int{}
	}
	t.subscribers[channel] = subscribers
}

// maxRemembered bounds the remembered shapes of a master's keys; beyond it everything is learned
// again.
const maxRemembered = 100_000

func (t *typedKeys) shape(key string) shape {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.shapes[key]; ok {
		return s
	}
	return shape{kind: recipe.TypeString}
}

// Cost is about how many commands reading a key takes.
func (m *Master) Cost(key string) int {
	n := 2
	for _, query := range m.typed.shape(key).queries {
		if n++; query.Type != recipe.TypeList && query.Type != recipe.TypeChannel {
			n++ // its time to live
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

// LockKeys turns keys that were seen into the keys of locks: helper keys make their locks known, noise is
// dropped. others are keys that a helper key may belong to as well: seen on their own while they are locks,
// and none otherwise.
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

// doubt takes back that entries are dead until they have looked so for a while.
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
