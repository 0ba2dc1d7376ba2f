package node

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// keyReading is one key of one master while it is read: first by the type that it is believed to have
// (readMain), then the questions that the replies raise (settle, learn), then what recipes ask for beside it
// (recognise), and at last its vote (decide).
type keyReading struct {
	vote  inspect.Vote
	shape shape
	keys  recipe.Keys
	main  probe

	there   presence
	content fault // what became of reading what the key holds
	// An empty string has to be distinguished from no key, a long one digested. rewritten: the key is another
	// lock's than when it was read first: what looked empty, since it ran out meanwhile, has a value by now,
	// or it is of another type.
	empty, long, rewritten bool
	// untyped is the TYPE that was not answered, where another type is meant or possible. again: it is read
	// once more, by another type.
	untyped redis.Cmder
	again   bool
	// tried are the types by which it was read in vain.
	tried []recipe.KeyType
	// own lists what could not be seen of the key itself: it counts only while the key may be there.
	own []inspect.Unseen

	// wanted lists the further keys and channels to read, missing those of them without an answer yet.
	wanted, missing []recipe.Query
	probes          []probe
	// large are those that are not read.
	large []recipe.Query
}

// presence of a key: there, not there, or unknown.
type presence int8

const (
	thereUnknown presence = iota // no permitted command decides it
	isPresent
	isAbsent
)

func presentIf(yes bool) presence {
	if yes {
		return isPresent
	}
	return isAbsent
}

func (m *Master) newReadings(keys []string, tried map[string][]recipe.KeyType) []*keyReading {
	readings := make([]*keyReading, len(keys))
	for i, key := range keys {
		r, ok := m.spare.Get().(*keyReading)
		if !ok {
			r = new(keyReading)
		}
		r.shape, r.tried, r.keys.Key, r.keys.Named = m.typed.shape(key), tried[key], key, key == m.typed.named
		r.wanted, r.missing, r.keys.Hint = r.shape.queries, r.shape.queries, r.shape.hint
		r.vote = inspect.Vote{Addr: m.Address(), Up: true}
		readings[i] = r
	}
	return readings
}

// recycle makes readings spare whose votes were taken: each is three quarters of a kilobyte.
func (m *Master) recycle(readings []*keyReading) {
	for _, r := range readings {
		*r = keyReading{}
		m.spare.Put(r)
	}
}

// miss notes that something of the lock could not be read besides its key, once.
func (r *keyReading) miss(m *Master, aspect inspect.Aspect, cmd redis.Cmder, key string) {
	u := m.miss(aspect, cmd, rightFor(cmd, helperPattern(key, r.keys.Key)))
	if !slices.Contains(r.vote.Unseen, u) {
		r.vote.Unseen = append(r.vote.Unseen, u)
	}
}

// missOwn notes that something of the key itself could not be read.
func (r *keyReading) missOwn(m *Master, aspect inspect.Aspect, cmd redis.Cmder) {
	r.own = append(r.own, m.miss(aspect, cmd, rightFor(cmd, r.keys.Key)))
}

// readMain takes in the replies about the key itself.
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
	switch {
	case !timed:
		r.missOwn(m, inspect.AspectExpiry, ttl)
	case ttl.Val() == forEver:
		r.vote.NoExpiry = true
	default:
		r.vote.ExpiresAt = r.keys.Now.Add(ttl.Val())
	}
	r.content = faultOf(body.Err())
	r.keys.Main = r.main.value(r.keys.Now)
	text, isText := body.(*redis.StringCmd)
	if isText && r.content == noFault {
		r.empty, r.long = text.Val() == "", len(text.Val()) > shown
		r.vote.Value = inspect.Untrusted(r.keys.Main.Text)
	}
	switch {
	case timed && r.content == noFault && !isText && r.keys.Main.Type == recipe.TypeNone && !r.keys.Main.More:
		r.there = isAbsent // an empty collection is none: it has ended since PTTL was answered
	case timed, r.content == otherType:
		r.there = isPresent
	case r.content == noFault && !r.empty:
		r.there = presentIf(r.keys.Main.Type != recipe.TypeNone) // an empty collection is none
	}
}

// questions are those that some replies raise about a key; nil where they do not.
type questions struct {
	kind                   *redis.StatusCmd
	ttl                    *redis.DurationCmd
	fields, exists, length *redis.IntCmd
	value                  *redis.StringCmd
	still                  *redis.IntCmd
}

// question asks TYPE of a key that is no string or could not be read, EXISTS of one that may not be there,
// STRLEN of a long one, and an empty one, which may be the next client's, for its value again, and then
// whether it is still there: that one may have given it back. What reads as an empty string may have run out
// since PTTL was answered: where EXISTS is refused, PTTL once more, TYPE, and HLEN, which has no answer to a
// string, distinguish it from no key.
func (r *keyReading) question(ctx context.Context, p redis.Pipeliner) (q questions) {
	if r.there == isAbsent || r.content == elsewhere {
		return q
	}
	if r.empty {
		r.there, q.ttl = thereUnknown, p.PTTL(ctx, r.keys.Key)
	}
	unsure := r.there == thereUnknown
	if r.content != noFault || unsure {
		q.kind = p.Type(ctx, r.keys.Key)
	}
	if r.content == noFault && unsure {
		q.fields = p.HLen(ctx, r.keys.Key)
	}
	if unsure {
		q.exists = p.Exists(ctx, r.keys.Key)
	}
	if r.long {
		q.length = p.StrLen(ctx, r.keys.Key)
	}
	if r.empty {
		q.value = p.GetRange(ctx, r.keys.Key, 0, 0) // that is not refused: it was read so before
		q.still = p.Exists(ctx, r.keys.Key)
	}
	return q
}

// settle asks the questions that some replies raise, in one pipeline.
func (m *Master) settle(ctx context.Context, readings []*keyReading) error {
	asked := make([]questions, len(readings))
	err := m.doKeys(ctx, func(ctx context.Context, c redis.UniversalClient) error {
		p := c.Pipeline()
		for i, r := range readings {
			asked[i] = r.question(ctx, p)
		}
		if p.Len() == 0 {
			return nil
		}
		cmds, err := p.Exec(ctx)
		return m.serverError(err, cmds)
	})
	if err != nil {
		return err
	}
	for i, r := range readings {
		q := asked[i]
		r.readPresence(q)
		if q.value != nil && r.content == noFault { // TYPE told of nothing else
			r.rewritten = faultOf(q.value.Err()) == otherType || q.value.Err() == nil && q.value.Val() != ""
		}
		if !r.long {
			continue
		}
		if err := m.readLength(ctx, r, q.length); err != nil {
			return err
		}
	}
	return nil
}

// readPresence takes in whether the key is there, by the newest answer that tells it, and its type.
func (r *keyReading) readPresence(q questions) {
	if q.kind != nil {
		r.readType(q.kind)
	}
	if q.exists != nil && q.exists.Err() == nil {
		r.there = presentIf(q.exists.Val() > 0)
	}
	if q.still != nil && q.still.Err() == nil && q.still.Val() == 0 {
		r.there = isAbsent
	}
	if q.fields != nil && r.there == thereUnknown {
		r.readFields(q.fields)
	}
	if q.ttl != nil && r.there == thereUnknown && faultOf(q.ttl.Err()) == noFault {
		r.there = presentIf(q.ttl.Val() != gone)
	}
	if r.empty && r.there == thereUnknown && r.main.ttl.Err() == nil {
		r.untyped = q.exists // what is missing
	}
}

// readType takes in what type the key has.
func (r *keyReading) readType(cmd *redis.StatusCmd) {
	switch kind := recipe.KeyType(cmd.Val()); {
	case faultOf(cmd.Err()) != noFault && r.content == noFault: // it was read
	case faultOf(cmd.Err()) != noFault:
		r.untyped = cmd
	case kind == recipe.TypeNone:
		r.there = isAbsent
	case kind == r.shape.kind:
		r.there, r.rewritten = isPresent, r.content == otherType
	default:
		r.there, r.content = isPresent, otherType
		r.vote.Value = inspect.Untrusted(kind)
	}
}

// readFields takes in whether what reads as an empty string has fields: none where there is no key, WRONGTYPE
// where there is.
func (r *keyReading) readFields(cmd *redis.IntCmd) {
	switch faultOf(cmd.Err()) {
	case noFault:
		r.there = presentIf(cmd.Val() > 0)
	case otherType:
		r.there = isPresent
	}
}

// readLength digests a long value.
func (m *Master) readLength(ctx context.Context, r *keyReading, cmd *redis.IntCmd) (err error) {
	if faultOf(cmd.Err()) != noFault {
		r.missOwn(m, inspect.AspectOwner, cmd)
		return nil
	}
	r.vote.Digest, err = m.digest(ctx, r.keys.Key, &r.vote, cmd.Val())
	return err
}
