package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// keyReading is the state of reading one key of one master. The key is read by its presumed type
// (readMain), then unclear replies are resolved (settle). Recipes then request related keys
// (recognise), and the vote is built (decode).
type keyReading struct {
	vote  inspect.Vote
	shape shape
	keys  recipe.Keys
	main  probe

	there   presence
	content fault // of reading the key's content
	// empty is set if the key reads as an empty string. Then it may not exist, unless a permitted
	// command shows that it does.
	empty bool
	// again requests another read, by another type or because the key changed meanwhile. once is
	// set if it was read before.
	again, once bool
	// untyped is the failed TYPE command, if the type was needed.
	untyped redis.Cmder
	// own lists the unseen parts of the key itself. They count only while the key may exist.
	own []inspect.Unseen

	// wanted lists the related keys and channels to read; missing lists those without an answer
	// yet.
	wanted, missing []recipe.Query
	probes          []probe
	// large lists the related keys that are too large to read.
	large []recipe.Query
}

// presence says whether a key exists: yes, no, or unknown.
type presence int8

const (
	thereUnknown presence = iota // no permitted command decides it
	isPresent
	isAbsent
)

func (m *Master) newReadings(keys []string, once bool) []*keyReading {
	readings := make([]*keyReading, len(keys))
	for i, key := range keys {
		r := new(keyReading)
		r.shape, r.once, r.keys.Key, r.keys.Named = m.typed.shape(key), once, key, key == m.typed.named
		r.wanted, r.missing, r.keys.Hint = r.shape.queries, r.shape.queries, r.shape.hint
		r.vote = inspect.Vote{Addr: m.Address(), Up: true}
		readings[i] = r
	}
	return readings
}

// miss notes that something related to the lock's key could not be read.
func (r *keyReading) miss(m *Master, aspect inspect.Aspect, cmd redis.Cmder, key string) {
	r.note(m.miss(aspect, cmd, rightFor(cmd, helperPattern(key, r.keys.Key))))
}

// note adds what could not be read, once.
func (r *keyReading) note(u inspect.Unseen) {
	if !slices.Contains(r.vote.Unseen, u) {
		r.vote.Unseen = append(r.vote.Unseen, u)
	}
}

// missOwn notes that part of the key itself could not be read.
func (r *keyReading) missOwn(m *Master, aspect inspect.Aspect, cmd redis.Cmder) {
	r.own = append(r.own, m.miss(aspect, cmd, rightFor(cmd, r.keys.Key)))
}

// readMain reads the replies about the key itself.
func (m *Master) readMain(r *keyReading) {
	ttl, body := r.main.ttl, r.main.body
	timed := faultOf(ttl.Err()) == noFault
	if faultOf(ttl.Err()) == elsewhere {
		r.content = elsewhere
		return
	}
	r.keys.Main = recipe.Value{Type: recipe.TypeNone}
	if timed && ttl.Val() == gone {
		r.there = isAbsent
		return
	}
	m.readExpiry(r, ttl)
	r.content = faultOf(body.Err())
	r.keys.Main = r.main.value(r.keys.Now)
	if r.shape.kind == recipe.TypeHash && r.keys.Main.More { // no lock has so many holders
		r.there, r.vote.Foreign, r.vote.Value = isPresent, true, inspect.Untrusted(recipe.TypeHash)
		return
	}
	if text, ok := body.(*redis.StringCmd); ok && r.content == noFault {
		r.empty = text.Val() == ""
		r.vote.Value = inspect.Untrusted(r.keys.Main.Text)
	} else if r.content == noFault && r.keys.Main.Type == recipe.TypeNone && !r.keys.Main.More {
		r.there = isAbsent // an empty collection does not exist: it ended after PTTL
		return
	}
	if timed || r.content == otherType || r.content == noFault && !r.empty {
		r.there = isPresent
	}
	r.again = r.empty && !r.once // it may have expired after PTTL
}

// readExpiry reads the expiry of an existing key.
func (m *Master) readExpiry(r *keyReading, ttl *redis.DurationCmd) {
	switch {
	case faultOf(ttl.Err()) != noFault:
		r.missOwn(m, inspect.AspectExpiry, ttl)
	case ttl.Val() == forEver:
		r.vote.NoExpiry = true
	default:
		r.vote.ExpiresAt = r.keys.Now.Add(ttl.Val())
	}
}

// questions are the follow-up commands for one key; nil if not needed.
type questions struct {
	kind  *redis.StatusCmd
	size  *redis.IntCmd
	value *redis.StringCmd
}

// question queues TYPE for a key that could not be read or may not exist. If the key could not be
// read, it also queues its memory use, since a large key is not read again. A long value is
// requested in full.
func (r *keyReading) question(ctx context.Context, p redis.Pipeliner) (q questions) {
	if r.there == isAbsent || r.content == elsewhere || r.again {
		return q
	}
	if r.content != noFault || r.there == thereUnknown {
		q.kind = p.Type(ctx, r.keys.Key)
	}
	if r.content != noFault {
		q.size = p.MemoryUsage(ctx, r.keys.Key, maxSamples)
	}
	if text, ok := r.main.body.(*redis.StringCmd); ok && len(text.Val()) > shown {
		q.value = p.GetRange(ctx, r.keys.Key, 0, digested-1)
	}
	return q
}

// settle sends the follow-up commands of all keys in one pipeline.
func (m *Master) settle(ctx context.Context, readings []*keyReading) error {
	asked := make([]questions, len(readings))
	err := m.pipelinedKeys(ctx, func(ctx context.Context, p redis.Pipeliner) {
		for i, r := range readings {
			asked[i] = r.question(ctx, p)
		}
	})
	if err != nil {
		return err
	}
	for i, r := range readings {
		if asked[i].kind != nil {
			m.readType(r, asked[i].kind, asked[i].size)
		}
		if asked[i].value != nil {
			m.readWhole(r, asked[i].value)
		}
	}
	return nil
}

// lockTypes are the key types that locks use.
var lockTypes = []recipe.KeyType{recipe.TypeString, recipe.TypeHash, recipe.TypeZSet, recipe.TypeSet}

// readType reads the key's type. A key of an unexpected type is read again, unless it is too
// large for a lock or no lock uses that type.
func (m *Master) readType(r *keyReading, cmd *redis.StatusCmd, size *redis.IntCmd) {
	kind := recipe.KeyType(cmd.Val())
	switch {
	case faultOf(cmd.Err()) != noFault:
		r.untyped = cmd
	case kind == recipe.TypeNone:
		r.there = isAbsent
	case kind == r.shape.kind:
		r.there, r.again = isPresent, r.content == otherType
	case !slices.Contains(lockTypes, kind), kind != recipe.TypeString && size != nil && size.Val() > maxBytes:
		r.there, r.content = isPresent, otherType
		r.vote.Foreign, r.vote.Value = true, inspect.Untrusted(kind)
	default:
		r.there, r.again = isPresent, true
		m.typed.remember(r.keys.Key, shape{kind: kind, hint: r.shape.hint})
	}
}

// readWhole digests a long value. If its beginning has changed since, the key is read again.
func (m *Master) readWhole(r *keyReading, cmd *redis.StringCmd) {
	value := cmd.Val()
	switch {
	case cmd.Err() != nil:
		r.missOwn(m, inspect.AspectOwner, cmd)
	case !strings.HasPrefix(value, r.keys.Main.Text):
		r.again = true
	case len(value) < digested: // otherwise it may be longer
		sum := sha256.Sum256([]byte(value))
		r.vote.Digest = "sha256:" + hex.EncodeToString(sum[:])
	}
}
