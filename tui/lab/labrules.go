package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/zkpath"
	"github.com/lockscope/lockscope/lockops"
)

// usualTaking is the form's default: the recipe and mode of the lock's clients. l may be nil.
func usualTaking(b *Backend, id inspect.ID, l *inspect.Lock) Order {
	o := Order{Lock: id, TTL: 30 * time.Second, Wait: 30 * time.Second}
	if len(b.Kinds) > 0 {
		o.Kind = b.Kinds[0]
	}
	if !b.ZooKeeper {
		return o
	}
	if l != nil && l.Kind == inspect.KindRW && slices.Contains(b.Kinds, "read") {
		o.Kind = "read"
	}
	recipes := b.Recipes[o.Kind]
	if len(recipes) > 0 {
		o.Recipe = recipes[0]
	}
	if l != nil && slices.Contains(recipes, l.Recipe) {
		o.Recipe = l.Recipe
		o.Prefix = queuePrefix(l)
	}
	return o
}

func queuePrefix(l *inspect.Lock) string {
	if l.Recipe != "sequential" {
		return ""
	}
	for _, list := range [][]inspect.Contender{l.Holders, l.Waiters} {
		for i := range list {
			if prefix, _, ok := recipe.SplitSequence(list[i].Name.Raw()); ok {
				return prefix
			}
		}
	}
	return ""
}

// takingRefused explains why a lock cannot be taken that way; empty if it may be tried.
func takingRefused(b *Backend, o *Order, l *inspect.Lock) string {
	switch {
	case b.ZooKeeper && o.Lock.Path == "/":
		return "the root znode cannot be a lock"
	case b.ZooKeeper && zkpath.Check(o.Lock.Path) != nil:
		return "invalid path: " + zkpath.Check(o.Lock.Path).Error()
	case l == nil:
		return ""
	case !b.ZooKeeper && describe.Structured(l):
		return fmt.Sprintf("%s clients use it, and would fail on a plain key", l.Recipe)
	}
	used := l.Contention() > 0
	switch {
	case b.ZooKeeper && used && l.Recipe != o.Recipe:
		return fmt.Sprintf("%s clients use it: they and %s clients would not wait for each other", l.Recipe, o.Recipe)
	case o.Kind == "mutex" && slices.Contains([]inspect.Kind{inspect.KindRW, inspect.KindSemaphore}, l.Kind):
		return fmt.Sprintf("its kind is %s: a mutex would not respect it", l.Kind)
	case slices.Contains([]string{"read", "write"}, o.Kind) && used && l.Kind != inspect.KindRW && l.Recipe != "kazoo":
		return fmt.Sprintf("its kind is %s: readers and writers would not respect it", l.Kind) // kazoo's writers look like a mutex
	}
	return ""
}

// takingPreview describes what will be created, and when the lock is ours.
func takingPreview(b *Backend, o *Order) []string {
	name := inspect.Escape(o.Lock.Path)
	node := []string{
		"lockscope creates an ephemeral sequential node below " + o.Lock.String() + ".",
		"Its name follows the " + o.Recipe + " recipe.",
	}
	switch {
	case b.ZooKeeper && o.Try:
		return append(node, "lockscope deletes it at once if another client is ahead of it.")
	case b.ZooKeeper && o.Kind == "read":
		return append(node, "lockscope waits for the writers ahead of it. The node ends with our session.")
	case b.ZooKeeper:
		return append(node, "lockscope waits for the node ahead of it. The node ends with our session.")
	case b.Masters > 1 && o.Kind == "redlock":
		return []string{
			fmt.Sprintf("lockscope sends SET %s VALUE NX PX %d to %d masters, and renews it every %v.",
				name, o.TTL.Milliseconds(), b.Masters, o.TTL/3),
			fmt.Sprintf("We hold the lock once %d of them accept.", b.Masters/2+1),
		}
	default:
		return []string{
			fmt.Sprintf("lockscope sends SET %s VALUE NX PX %d, and renews it every %v.",
				name, o.TTL.Milliseconds(), o.TTL/3),
			"It also sets " + inspect.Escape(recipe.FenceKey(o.Lock.Path)) +
				" to the newest fencing token, which stays for a day.",
		}
	}
}

// notTaken explains why a lock was not taken, safe to print.
func notTaken(o *Order, err error) string {
	var mixed *lockops.RecipeError
	switch {
	case errors.As(err, &mixed) && mixed.FoundKind != "":
		return fmt.Sprintf("refused: it is a %s used by %s clients, which do not queue with a %s; "+
			"nothing was left behind",
			mixed.FoundKind, describe.Printable(mixed.Found), mixed.WantKind)
	case errors.As(err, &mixed):
		return fmt.Sprintf("refused: its %s clients do not queue with %s clients; nothing was left behind",
			describe.Printable(mixed.Found), describe.Printable(mixed.Want))
	case errors.Is(err, lockops.ErrHeld):
		return "another client holds it; nothing was left behind"
	case errors.Is(err, context.Canceled):
		return "stopped waiting; nothing is left on reachable servers"
	case errors.Is(err, context.DeadlineExceeded) && !o.Try && o.Wait > 0:
		return fmt.Sprintf("not acquired within %s; nothing is left on reachable servers", describe.Exact(o.Wait))
	default:
		return "failed: " + describe.OneLine(err)
	}
}

// placeWords describes a name's position in the queue, if visible.
func placeWords(l *inspect.Lock, name string) string {
	if l == nil {
		return "waits; the screen has not seen the lock yet"
	}
	at := slices.IndexFunc(l.Waiters, func(c inspect.Contender) bool { return c.Name.Raw() == name })
	switch {
	case at == 0 && len(l.Holders) > 0:
		return "waits: next, after the holder " + describe.Owner(&l.Holders[0])
	case at >= 0:
		text := fmt.Sprintf("waits: %s of %d", ordinal(at+1), len(l.Waiters))
		if at > 0 {
			text += ", behind " + describe.Owner(&l.Waiters[at-1])
		}
		return text
	case len(l.Masters) > 0 && len(l.Holders) > 0:
		return "waits for " + describe.Owner(&l.Holders[0]) + "; Redis keeps no queue: position unknown"
	case len(l.Masters) > 0:
		return "waits; Redis keeps no queue: position unknown"
	default:
		return "waits; position unknown so far"
	}
}

// ordinal writes 1st, 2nd, 3rd, 4th.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
