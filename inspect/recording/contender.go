package recording

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"lockscope/inspect"
	"lockscope/inspect/recipe"
)

// contender is one as it stands in a recording: with all that it has in one place, in the order of files that were written before.
type contender struct {
	Name              inspect.Untrusted
	Digest            string
	Place             string
	Recipe            string
	Sequence, Version int32
	Sequential        bool
	Mode              recipe.Mode
	State             inspect.ContenderState
	Watch             inspect.Confirmation
	NoExpiry          bool
	Revocable         bool
	Dead              bool
	Persistent        bool
	Count             int32
	BlockedBelow      int32
	Czxid             int64
	Owner             owner
	Since, HeldSince  time.Time
	Seen              inspect.Instant
	ExpiresAt         time.Time
	Watches           inspect.Untrusted
	WatchesGone       inspect.Untrusted
	Reenters          inspect.Untrusted
}

type owner struct {
	Label             inspect.Untrusted
	Session           int64
	Client, Server    string
	Host, PID, Thread inspect.Untrusted
	LibraryID         inspect.Untrusted
	SessionTimeout    time.Duration
}

var writeContender = json.MarshalToFunc(func(e *jsontext.Encoder, c *inspect.Contender) error {
	o, p, s := &c.Owner, c.Owner.Process.Get(), c.Special.Get()
	return json.MarshalEncode(e, &contender{
		Name: c.Name, Digest: s.Digest, Place: s.Place, Recipe: s.Recipe,
		Sequence: c.Sequence, Version: c.Version, Sequential: c.Sequential, Mode: c.Mode, State: c.State, Watch: c.Watch,
		NoExpiry: c.NoExpiry, Revocable: c.Revocable, Dead: c.Dead, Persistent: c.Persistent,
		Count: c.Count, BlockedBelow: c.BlockedBelow, Czxid: c.Czxid,
		Owner: owner{
			Label: o.Label, Session: o.Session, Client: o.Client, Server: o.Server,
			Host: p.Host, PID: p.PID, Thread: p.Thread, LibraryID: p.LibraryID, SessionTimeout: o.SessionTimeout,
		},
		Since: c.Since, HeldSince: c.HeldSince, Seen: c.Seen, ExpiresAt: c.ExpiresAt,
		Watches: c.Watches, WatchesGone: s.WatchesGone, Reenters: s.Reenters,
	})
})

var readContender = json.UnmarshalFromFunc(func(d *jsontext.Decoder, into *inspect.Contender) error {
	var c contender
	if err := json.UnmarshalDecode(d, &c); err != nil {
		return err
	}
	o := &c.Owner
	*into = inspect.Contender{
		Name: c.Name,
		Special: inspect.SharedOf(inspect.Special{
			Digest: c.Digest, Place: c.Place, Recipe: c.Recipe, WatchesGone: c.WatchesGone, Reenters: c.Reenters,
		}),
		Sequence: c.Sequence, Version: c.Version, Sequential: c.Sequential, Mode: c.Mode, State: c.State, Watch: c.Watch,
		NoExpiry: c.NoExpiry, Revocable: c.Revocable, Dead: c.Dead, Persistent: c.Persistent,
		Count: c.Count, BlockedBelow: c.BlockedBelow, Czxid: c.Czxid,
		Owner: inspect.Owner{
			Label: o.Label, Session: o.Session, Client: o.Client, Server: o.Server,
			Process:        inspect.SharedOf(inspect.Process{Host: o.Host, PID: o.PID, Thread: o.Thread, LibraryID: o.LibraryID}),
			SessionTimeout: o.SessionTimeout,
		},
		Since: c.Since, HeldSince: c.HeldSince, Seen: c.Seen, ExpiresAt: c.ExpiresAt, Watches: c.Watches,
	}
	return nil
})
