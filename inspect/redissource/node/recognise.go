package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
)

// rounds limits the follow-up queries.
const rounds = 3

// recognise reads the helper keys that recipes request, and builds the votes.
func (m *Master) recognise(ctx context.Context, readings []*keyReading) error {
	for range rounds {
		var asking []*keyReading
		for _, r := range readings {
			if r.again || r.vote.Foreign || r.content == elsewhere {
				continue
			}
			r.wanted, r.missing = recipe.Queries(r.keys), nil
			for _, query := range r.wanted {
				if _, ok := r.keys.Auxiliary[query.Key]; !ok {
					r.missing = append(r.missing, query)
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
		if err := m.readAuxiliary(ctx, asking, false); err != nil {
			return err
		}
	}
	for _, r := range readings {
		m.decode(r)
	}
	return nil
}

// skipLarge asks for the size of collections not read yet, and skips those too large to belong to a
// lock.
func (m *Master) skipLarge(ctx context.Context, readings []*keyReading) error {
	sizes := map[string]*redis.IntCmd{}
	err := m.pipelinedKeys(ctx, func(ctx context.Context, p redis.Pipeliner) {
		for _, r := range readings {
			for _, query := range r.missing {
				if query.Type != recipe.TypeChannel && query.Type != recipe.TypeString && sizes[query.Key] == nil {
					sizes[query.Key] = p.MemoryUsage(ctx, query.Key, maxSamples)
				}
			}
		}
	})
	if err != nil {
		return err
	}
	for _, r := range readings {
		r.missing = slices.DeleteFunc(r.missing, func(query recipe.Query) bool {
			size := sizes[query.Key]
			if size == nil || size.Val() <= maxBytes {
				return false
			}
			r.put(query.Key, recipe.Value{Type: recipe.TypeNone, Unknown: true})
			r.vote.Unseen = append(r.vote.Unseen, inspect.Unseen{
				Aspect: aspectOf(query.Feeds), Where: m.Address(), Read: readName(size),
				Reason: fmt.Sprintf("%s uses %d bytes, too many to read", query.Key, size.Val()),
			})
			r.large = append(r.large, query)
			return true
		})
	}
	return nil
}

// decode builds a key's vote and remembers how to read the key next time.
func (m *Master) decode(r *keyReading) {
	if r.again {
		return
	}
	m.blind(r)
	if r.vote.Foreign {
		return
	}
	record, ok := recipe.DecodeKeys(r.keys)
	r.wanted = slices.DeleteFunc(r.wanted, func(query recipe.Query) bool { return slices.Contains(r.large, query) })
	if !ok {
		m.plain(r)
		return
	}
	held := new(record) // few keys get this far
	m.typed.remember(r.keys.Key, shape{kind: r.shape.kind, hint: held.Recipe, queries: r.wanted})
	m.typed.doubt(r.keys.Key, held, m.now())
	r.hold(held)
	m.blindClock(r)
}

// blind records in the vote whether the key exists, and which parts of it are unseen.
func (m *Master) blind(r *keyReading) {
	v := &r.vote
	switch {
	case v.Foreign:
		v.Present = true
		return
	case r.there == isAbsent:
		*v = inspect.Vote{Addr: v.Addr, Up: true, Unseen: v.Unseen}
		return
	case r.content == commandFault || r.content == elsewhere:
		r.missOwn(m, inspect.AspectHolders, r.main.body)
	case r.content != noFault, r.there == thereUnknown:
		cmd := r.untyped
		if cmd == nil {
			cmd = r.main.ttl
		}
		r.missOwn(m, inspect.AspectKind, cmd)
		r.missOwn(m, inspect.AspectHolders, cmd)
	}
	if r.content != noFault {
		r.keys.Main = recipe.Value{Type: recipe.TypeNone, Unknown: true}
	}
	if r.content != noFault || r.there == thereUnknown {
		u := r.own[len(r.own)-1]
		u.Aspect = inspect.AspectWaiters // the keys next to it are unknown, too
		r.own = append(r.own, u)
	}
	v.Present, v.Unseen = r.there == isPresent, append(r.own, v.Unseen...)
	if r.there == thereUnknown {
		u := r.own[len(r.own)-1]
		u.Aspect = inspect.AspectVotes
		v.Up, v.Error, v.Unseen = false, inspect.Escape(u.Reason), append(v.Unseen, u)
	}
}

// plain builds the vote for a key that no recipe recognises: a plain string, or not a lock.
func (m *Master) plain(r *keyReading) {
	v, kind := &r.vote, r.shape.kind
	switch {
	case !v.Present, v.Unknown(inspect.AspectHolders):
	case kind != recipe.TypeString:
		v.Foreign, v.Value = true, inspect.Untrusted(kind)
	case len(v.Unseen) == 0:
	case recipe.DecodeToken(r.keys.Key, v.Value.Raw()).Confidence == recipe.Certain: // the value alone shows the holder
	default: // it may be more than a plain string if the keys next to it could not be read
		for _, u := range slices.Clone(v.Unseen) {
			if u.Aspect == inspect.AspectWaiters {
				for _, a := range []inspect.Aspect{inspect.AspectKind, inspect.AspectHolders} {
					u.Aspect = a
					v.Unseen = append(v.Unseen, u)
				}
			}
		}
	}
	if len(r.wanted) == 0 || !v.Present {
		kind = recipe.TypeString // next time, it is read as a string
	}
	m.typed.remember(r.keys.Key, shape{kind: kind, hint: r.unseenHint(), queries: r.wanted})
}

// unseenHint is the key's last known recipe, while missing reads might still confirm it.
func (r *keyReading) unseenHint() string {
	if len(r.vote.Unseen) > 0 {
		return r.shape.hint
	}
	return ""
}

// hold stores a decoded record in the key's vote.
func (r *keyReading) hold(held *recipe.Record) {
	v := &r.vote
	v.Held = held
	var names []string
	for _, c := range held.Claims {
		if !c.Waiting {
			names = append(names, c.Name)
		}
	}
	if r.shape.kind != recipe.TypeString || !v.Present {
		v.Value = inspect.Untrusted(cut(strings.Join(names, " ")))
	}
	if v.Present || !v.Up || len(names) == 0 {
		return
	}
	v.Present, held.Auxiliary = true, true // the keys next to the main one hold the lock
	for _, c := range held.Claims {
		if c.Waiting {
			continue
		}
		v.NoExpiry = v.NoExpiry || c.NoExpiry
		if c.ExpiresAt.After(v.ExpiresAt) {
			v.ExpiresAt = c.ExpiresAt
		}
	}
	if v.NoExpiry {
		v.ExpiresAt = time.Time{}
	}
}

// blindClock marks entries as unknown if they expire by an unknown clock.
func (m *Master) blindClock(r *keyReading) {
	unseen := m.clock.unknown.Load()
	timed := r.keys.Main.Type == recipe.TypeZSet
	for _, v := range r.keys.Auxiliary {
		timed = timed || v.Type == recipe.TypeZSet
	}
	if unseen == nil || !timed {
		return
	}
	u := *unseen
	u.Aspect = inspect.AspectExpiry
	r.vote.Unseen = append(r.vote.Unseen, u)
	if !r.vote.Held.Held() {
		u.Aspect = inspect.AspectHolders
		r.vote.Unseen = append(r.vote.Unseen, u)
	}
}
