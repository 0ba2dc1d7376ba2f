package look

import (
	"context"
	"slices"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
)

// withOthers is a look at one lock, with the findings that only the other locks can show. The
// others are read if the lock may be part of a deadlock, because both a holder and a waiter are
// known. They are also read if it has no quorum, since its servers may not be masters of one lock.
// If they cannot all be read in time, a message says so.
func withOthers(ctx context.Context, a *app.App, s app.Setup, one *inspect.Snapshot, id inspect.ID) *inspect.Snapshot {
	l := one.Lock(id)
	if l == nil || !mayBlockEachOther(l) && l.State != inspect.StateMinority {
		return one
	}
	ctx, cancel := context.WithTimeout(ctx, app.OthersWithin)
	defer cancel()
	all, err := a.Look(ctx, s, "")
	if err != nil || ctx.Err() != nil || slices.ContainsFunc(all.Backends, app.Unseen) {
		a.Say("not all other locks could be read: a deadlock across locks, or servers that are not masters of one " +
			"lock, would not show (see: lockscope doctor)")
		return one
	}
	other := all.Lock(id)
	switch own := all.Backend(id.Backend); {
	case other == nil:
		return one
	case own != nil && own.Spread.Suspect():
		return all
	}
	known := func(f inspect.Finding) bool {
		return f.Rule != "deadlock" ||
			slices.ContainsFunc(l.Findings, func(has inspect.Finding) bool { return has.Rule == f.Rule })
	}
	more := slices.DeleteFunc(slices.Clone(other.Findings), known)
	if len(more) == 0 {
		return one
	}
	with := *l
	with.Findings = append(more, l.Findings...)
	return one.With(&with)
}

// mayBlockEachOther reports whether a holder and a waiter of the lock are known, so that they can
// be found on other locks. On another kind of backend a label may suffice.
func mayBlockEachOther(l *inspect.Lock) bool {
	known := func(c inspect.Contender) bool {
		_, ok := c.Identity(l.ID.Backend)
		return ok || c.Owner.Label != ""
	}
	return slices.ContainsFunc(l.Holders, known) && slices.ContainsFunc(l.Waiters, known)
}
