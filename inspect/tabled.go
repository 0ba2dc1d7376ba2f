package inspect

// tabled has the findings of a table of watches about a contender, but for its own watch. Few locks have any, so that it stands beside
// the contenders.
type tabled struct {
	unwatched bool      // the table did not have its watch; see confirmWatches
	awaits    Untrusted // whom before it its session watches; see recordAwaited
}

// unwatched reports whether the newest table of watches did not have a contender's watch.
func (l *Lock) unwatched(c *Contender) bool { return l.tabled[c.Name].unwatched }

// awaits names the contender before it that a contender's session watches, by a table of watches; empty for none.
func (l *Lock) awaits(c *Contender) Untrusted { return l.tabled[c.Name].awaits }

func (l *Lock) setUnwatched(c *Contender, unwatched bool) {
	l.setTabled(c, tabled{unwatched, l.awaits(c)})
}

func (l *Lock) setAwaits(c *Contender, name Untrusted) {
	l.setTabled(c, tabled{l.unwatched(c), name})
}

func (l *Lock) setTabled(c *Contender, t tabled) {
	switch {
	case t == tabled{}:
		delete(l.tabled, c.Name)
	case l.tabled == nil:
		l.tabled = map[Untrusted]tabled{c.Name: t}
	default:
		l.tabled[c.Name] = t
	}
}
