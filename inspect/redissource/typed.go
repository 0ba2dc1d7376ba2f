package redissource

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// deadAfter is how long an entry must look dead before it is said to be: between a library's commands it may look so
// for a moment.
const deadAfter = 300 * time.Millisecond

// rounds is how many times what was read may raise new questions.
const rounds = 3

// shape is how to read a key that is more than a plain string.
type shape struct {
	kind recipe.KeyType
	hint string
	asks []recipe.Ask
}

func (s shape) plain() bool {
	return s.kind == recipe.TypeString && s.hint == "" && len(s.asks) == 0
}

// typedKeys is what a master remembers of keys that are more than plain strings, so that they take one round trip.
type typedKeys struct {
	mu     sync.Mutex
	shapes map[string]shape
	// channels are those on which locks wake their waiters, with the subscribers when they were last read.
	channels map[string]subscribed
	// suspects are entries that looked dead, and since when.
	suspects map[string]time.Time
	// noShards: the server does not know sharded channels.
	noShards atomic.Bool
	// named is the one key that somebody asked for; patient waits to confirm what looks dead.
	named   string
	patient bool
}

// subscribed is the number of a channel's subscribers, and the lock that it belongs to.
type subscribed struct {
	lock  string
	count int
}

// watched are the channels of the locks that are there.
func (t *typedKeys) watched() map[string]subscribed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.channels)
}

// note keeps the subscribers of a lock's channels; of none where there is no lock.
func (t *typedKeys) note(r *keyReading, there bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ask := range slices.Concat(r.shape.asks, r.wanted) {
		if ask.Type != recipe.TypeChannel {
			continue
		}
		v, read := r.keys.Beside[ask.Key]
		if !there || !read || v.Unknown {
			delete(t.channels, ask.Key)
			continue
		}
		if t.channels == nil || len(t.channels) > maxRemembered {
			t.channels = map[string]subscribed{}
		}
		t.channels[ask.Key] = subscribed{r.keys.Key, v.Subscribers}
	}
}

// maxRemembered bounds what is remembered of a master's keys; beyond it everything is learned anew.
const maxRemembered = 100_000

func (t *typedKeys) shape(key string) shape {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.shapes[key]; ok {
		return s
	}
	return shape{kind: recipe.TypeString}
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

// lockKeys turns keys that were seen into the keys of locks: helper keys make their locks known, noise is dropped.
func (m *master) lockKeys(keys []string) []string {
	var locks []string
	for _, key := range keys {
		name, helped, helper := recipe.LockOf(key)
		if !helper {
			locks = append(locks, key)
			continue
		}
		for _, lock := range helped {
			if s := m.typed.shape(lock); s.hint == "" {
				s.hint = name
				m.typed.remember(lock, s)
			}
			locks = append(locks, lock)
		}
	}
	return locks
}

// keyReading is one key while it is read.
type keyReading struct {
	answer
	shape shape
	keys  recipe.Keys
	main  probe
	// wanted are what has to be read besides, missing those of them that were not yet.
	wanted, missing []recipe.Ask
	probes          []probe
	// large are those that are not read.
	large []recipe.Ask
}

func (m *master) newReading(key string) *keyReading {
	r := &keyReading{shape: m.typed.shape(key), keys: recipe.Keys{Key: key, Named: key == m.typed.named}}
	r.wanted, r.missing, r.keys.Hint = r.shape.asks, r.shape.asks, r.shape.hint
	return r
}

// beside reads what is missing beside the keys, in one round trip, the keys themselves too where main is set.
func (m *master) beside(ctx context.Context, readings []*keyReading, main bool) error {
	var counted subscribers
	channels := m.channels(readings)
	start := time.Now()
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, r := range readings {
				if main {
					r.main = newProbe(ctx, p, recipe.Ask{Key: r.keys.Key, Type: r.shape.kind})
				}
				r.probes = r.probes[:0]
				for _, ask := range r.missing {
					if ask.Type != recipe.TypeChannel {
						r.probes = append(r.probes, newProbe(ctx, p, ask))
					}
				}
			}
			if !m.isCluster() { // there each node counts its own
				counted = m.askSubscribers(ctx, p, channels)
			}
			return nil
		})
		return pipelineError(err, slices.DeleteFunc(cmds, counted.optional))
	})
	if err != nil {
		return err
	}
	middle := start.Add(time.Since(start) / 2).Round(0)
	counts := m.counts(channels, counted)
	for _, r := range readings {
		r.keys.Now, r.keys.Offset = middle, time.Duration(m.offset.Load())
		for _, ask := range r.missing {
			if v, ok := counts[ask.Key]; ok && ask.Type == recipe.TypeChannel {
				if len(counted.plain) == 0 {
					v.Unknown = true
				}
				r.put(ask.Key, v)
			}
		}
		for _, p := range r.probes {
			r.put(p.ask.Key, p.value(middle))
		}
		r.missing = nil
	}
	return nil
}

func (r *keyReading) put(key string, v recipe.Value) {
	if r.keys.Beside == nil {
		r.keys.Beside = map[string]recipe.Value{}
	}
	r.keys.Beside[key] = v
}

func (m *master) channels(readings []*keyReading) []string {
	var channels []string
	for _, r := range readings {
		for _, ask := range r.missing {
			if ask.Type == recipe.TypeChannel {
				channels = append(channels, ask.Key)
			}
		}
	}
	slices.Sort(channels)
	return slices.Compact(channels)
}

// learn asks how large keys of a type that is not the expected one are, and says which are worth reading as what they
// are. A hash, set or sorted set that is too large for a lock is read no further.
func (m *master) learn(ctx context.Context, readings []*keyReading) ([]string, error) {
	var odd []*keyReading
	for _, r := range readings {
		if r.wrongType && slices.Contains(lockTypes(), recipe.KeyType(r.vote.Value)) {
			odd = append(odd, r)
		}
	}
	if len(odd) == 0 {
		return nil, nil
	}
	sizes, memory := make([]*redis.IntCmd, len(odd)), make([]*redis.IntCmd, len(odd))
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		cmds, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, r := range odd {
				sizes[i], memory[i] = m.askSize(ctx, p, r)
			}
			return nil
		})
		return pipelineError(err, slices.DeleteFunc(cmds, func(cmd redis.Cmder) bool {
			usage, ok := cmd.(*redis.IntCmd)
			return ok && slices.Contains(memory, usage) // not every server tells; the number of items bounds it then
		}))
	})
	if err != nil {
		return nil, err
	}
	var worth []string
	for i, r := range odd {
		if err := sizes[i].Err(); isDenied(err) { // it may be a lock
			r.vote = inspect.Vote{Addr: m.addr, Error: inspect.Escape(err.Error())}
		}
		if sizes[i].Err() == nil && sizes[i].Val() <= maxSize && memory[i].Val() <= maxBytes {
			m.typed.remember(r.keys.Key, shape{kind: recipe.KeyType(r.vote.Value), hint: r.shape.hint})
			worth = append(worth, r.keys.Key)
		}
	}
	return worth, nil
}

func lockTypes() []recipe.KeyType {
	return []recipe.KeyType{recipe.TypeString, recipe.TypeHash, recipe.TypeZSet, recipe.TypeSet}
}

func (m *master) askSize(ctx context.Context, p redis.Pipeliner, r *keyReading) (size, memory *redis.IntCmd) {
	key := r.keys.Key
	switch recipe.KeyType(r.vote.Value) {
	case recipe.TypeHash:
		size = p.HLen(ctx, key)
	case recipe.TypeZSet:
		size = p.ZCard(ctx, key)
	case recipe.TypeSet:
		size = p.SCard(ctx, key)
	default:
		size = p.Exists(ctx, key)
		return size, redis.NewIntCmd(ctx)
	}
	return size, p.MemoryUsage(ctx, key, maxSize)
}

// recognise reads what recipes ask for beside the keys, and makes votes of what they know.
func (m *master) recognise(ctx context.Context, readings []*keyReading) error {
	for range rounds {
		var asking []*keyReading
		for _, r := range readings {
			if !r.vote.Up || r.wrongType {
				continue
			}
			r.wanted, r.missing = recipe.Asks(r.keys), nil
			for _, ask := range r.wanted {
				if _, ok := r.keys.Beside[ask.Key]; !ok {
					r.missing = append(r.missing, ask)
				}
			}
			if len(r.missing) > 0 {
				asking = append(asking, r)
			}
		}
		if len(asking) == 0 {
			break
		}
		if err := m.skipLarge(ctx, asking); err != nil {
			return err
		}
		if err := m.beside(ctx, asking, false); err != nil {
			return err
		}
	}
	for _, r := range readings {
		m.decode(r)
	}
	return nil
}

// skipLarge asks how large collections are that were never read, and leaves out those that are too large to be a lock's.
func (m *master) skipLarge(ctx context.Context, readings []*keyReading) error {
	sizes := map[string]*redis.IntCmd{}
	err := m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		p := c.Pipeline()
		for _, r := range readings {
			for _, ask := range r.missing {
				if ask.Type != recipe.TypeChannel && ask.Type != recipe.TypeString && sizes[ask.Key] == nil {
					sizes[ask.Key] = p.MemoryUsage(ctx, ask.Key, maxSize)
				}
			}
		}
		if p.Len() == 0 {
			return nil
		}
		_, err := p.Exec(ctx)
		return onlyBroken(err) // not every server tells
	})
	if err != nil {
		return err
	}
	for _, r := range readings {
		r.missing = slices.DeleteFunc(r.missing, func(ask recipe.Ask) bool {
			size := sizes[ask.Key]
			if size == nil || size.Val() <= maxBytes {
				return false
			}
			r.put(ask.Key, recipe.Value{Type: recipe.TypeNone, Unknown: true})
			r.large = append(r.large, ask)
			return true
		})
	}
	return nil
}

// decode makes the vote of a key of what was read, and remembers how to read it the next time.
func (m *master) decode(r *keyReading) {
	if !r.vote.Up || r.wrongType {
		return
	}
	record, ok := recipe.DecodeKeys(r.keys)
	r.wanted = slices.DeleteFunc(r.wanted, func(ask recipe.Ask) bool { return slices.Contains(r.large, ask) })
	m.typed.note(r, r.vote.Present || ok)
	kind := r.shape.kind
	if !ok {
		if kind != recipe.TypeString && r.vote.Present {
			r.vote.Foreign, r.vote.Value = true, inspect.Untrusted(kind)
		}
		if len(r.wanted) == 0 || !r.vote.Present {
			kind = recipe.TypeString // not what it was
		}
		m.typed.remember(r.keys.Key, shape{kind: kind, asks: r.wanted})
		return
	}
	m.typed.remember(r.keys.Key, shape{kind: kind, hint: record.Recipe, asks: r.wanted})
	m.typed.doubt(r.keys.Key, &record, time.Now())
	r.vote.Held = &record
	var names []string
	for _, c := range record.Claims {
		if !c.Waiting {
			names = append(names, c.Name)
		}
	}
	if kind != recipe.TypeString || !r.vote.Present {
		r.vote.Value = inspect.Untrusted(cut(strings.Join(names, " ")))
	}
	if !r.vote.Present && len(names) > 0 { // by keys beside the first
		r.vote.Present, record.Beside = true, true
		for _, c := range record.Claims {
			if !c.Waiting && c.ExpiresAt.After(r.vote.ExpiresAt) {
				r.vote.ExpiresAt = c.ExpiresAt
			}
		}
		r.vote.NoExpiry = r.vote.ExpiresAt.IsZero()
	}
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
		case now.Sub(since) < deadAfter:
			c.Dead, r.Doubtful = false, true
		}
	}
}
