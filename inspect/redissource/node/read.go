package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/internal/sourcekit"
	"lockscope/inspect/recipe"
)

const (
	// shown limits the bytes that are kept of a value. One more is asked for, to see that there are more.
	shown = 1 << 10
	// hashed is the length of the longest value whose digest is computed; chunk of it is read at once. Both in bytes.
	hashed = 8 << 20
	chunk  = 1 << 20
	// rehash is after how long a long value is read in full again although its beginning and its length are the same.
	rehash = 10 * time.Second
)

// Votes reads keys with one pipeline, and others where replies raise questions. An error means that the master as
// a whole could not be asked.
func (m *Master) Votes(ctx context.Context, keys []string) ([]inspect.Vote, error) {
	if len(keys) == 0 { // still a sign of life
		return nil, m.do(ctx, func(ctx context.Context, c redis.UniversalClient) error { return onlyBroken(c.Ping(ctx).Err()) })
	}
	votes, err := m.readTyped(ctx, keys)
	if err != nil {
		return nil, err
	}
	return votes, m.confirm(ctx, keys, votes)
}

// readTyped reads keys, those that turn out to be of another type than expected once more as what they are.
func (m *Master) readTyped(ctx context.Context, keys []string) ([]inspect.Vote, error) {
	tried := map[string][]recipe.KeyType{}
	votes, odd, err := m.readOnce(ctx, keys, tried)
	for range lockTypes() { // without TYPE they are tried one after the other
		if err != nil || len(odd) == 0 {
			return votes, err
		}
		var again []inspect.Vote
		some := odd
		if again, odd, err = m.readOnce(ctx, some, tried); err == nil {
			replace(votes, keys, again, some)
		}
	}
	if len(odd) > 0 {
		never := make([]inspect.Vote, len(odd))
		for i := range never {
			never[i] = m.unsteady()
		}
		replace(votes, keys, never, odd)
	}
	return votes, err
}

// unsteady is the vote of a key that was another each time that it was read: for all that is known somebody holds it.
func (m *Master) unsteady() inspect.Vote {
	v := inspect.Vote{Addr: m.Address(), Error: "the key changed each time that it was read"}
	for _, a := range []inspect.Aspect{inspect.AspectKind, inspect.AspectHolders, inspect.AspectWaiters, inspect.AspectVotes} {
		v.Unseen = append(v.Unseen, inspect.Unseen{Aspect: a, Where: v.Addr, Read: "TYPE", Reason: v.Error})
	}
	return v
}

// replace puts the newer votes of some keys into those of all.
func replace(votes []inspect.Vote, keys []string, again []inspect.Vote, some []string) {
	newer := make(map[string]inspect.Vote, len(some))
	for i, key := range some {
		newer[key] = again[i]
	}
	for i, key := range keys {
		if v, ok := newer[key]; ok {
			votes[i] = v
		}
	}
}

// confirm looks again at what looks dead, where this is the only look that there will be.
func (m *Master) confirm(ctx context.Context, keys []string, votes []inspect.Vote) error {
	var doubtful []string
	for i, v := range votes {
		if m.typed.patient && v.Held != nil && v.Held.Doubtful {
			doubtful = append(doubtful, keys[i])
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	if err := sourcekit.Sleep(ctx, DeadAfter); err != nil {
		return err
	}
	again, err := m.readTyped(ctx, doubtful)
	if err == nil {
		replace(votes, keys, again, doubtful)
	}
	return err
}

// readOnce reads keys by the types that they are believed to have; odd are those that are to be read once
// more, by another or since they changed meanwhile.
func (m *Master) readOnce(ctx context.Context, keys []string, tried map[string][]recipe.KeyType) (votes []inspect.Vote, odd []string, err error) {
	readings := m.newReadings(keys, tried)
	defer m.recycle(readings)
	if err := m.readAuxiliary(ctx, readings, true); err != nil {
		return nil, nil, err
	}
	for _, r := range readings {
		m.readMain(r)
	}
	if err := m.settle(ctx, readings); err != nil {
		return nil, nil, err
	}
	if odd, err = m.learn(ctx, readings, tried); err != nil {
		return nil, nil, err
	}
	for _, r := range readings {
		if r.rewritten && !r.again {
			r.again, odd = true, append(odd, r.keys.Key)
		}
	}
	if err := m.recognise(ctx, readings); err != nil {
		return nil, nil, err
	}
	votes = make([]inspect.Vote, len(keys))
	for i, r := range readings {
		votes[i] = r.vote
	}
	return votes, odd, nil
}

// digests remembers what long values hashed to, so that they are not read in full at every tick.
type digests struct {
	mu    sync.Mutex
	known map[string]digested
}

type digested struct {
	start   inspect.Untrusted
	length  int64
	expires time.Time
	at      time.Time
	digest  string
}

// digest is sha256:HEX of a whole long value; empty when it is longer than 8 MiB.
func (m *Master) digest(ctx context.Context, key string, v *inspect.Vote, length int64) (string, error) {
	m.digests.mu.Lock()
	d, ok := m.digests.known[key]
	m.digests.mu.Unlock()
	renewed := v.ExpiresAt.Sub(d.expires) > 50*time.Millisecond
	if ok && d.start == v.Value && d.length == length && !renewed && m.now().Sub(d.at) < rehash {
		return d.digest, nil
	}
	d = digested{start: v.Value, length: length, expires: v.ExpiresAt, at: m.now()}
	if length <= hashed {
		var err error
		if d.digest, err = m.hash(ctx, key, length); err != nil || d.digest == "" {
			return "", err
		}
	}
	m.digests.mu.Lock()
	defer m.digests.mu.Unlock()
	if m.digests.known == nil || len(m.digests.known) > 10_000 {
		m.digests.known = map[string]digested{}
	}
	m.digests.known[key] = d
	return d.digest, nil
}

// hash reads a long value; empty when it is one no more.
func (m *Master) hash(ctx context.Context, key string, length int64) (string, error) {
	hash := sha256.New()
	for from := int64(0); from < length; from += chunk {
		changed := false
		err := m.doKeys(ctx, func(ctx context.Context, c redis.UniversalClient) error {
			part, err := c.GetRange(ctx, key, from, from+chunk-1).Result()
			io.WriteString(hash, part)
			changed = err != nil
			return onlyBroken(err)
		})
		if err != nil || changed {
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil)), nil
}

// DownVote is the vote for every key on a master that does not answer.
func DownVote(addr string, err error) inspect.Vote {
	return inspect.Vote{Addr: addr, Error: inspect.Escape(err.Error())}
}
