// Package jsonform formats inspect's model as the JSON of the contract
// (docs/snapshot.schema.json).
package jsonform

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"math"
	"slices"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
)

// SchemaVersion is the version of this package's JSON.
const SchemaVersion = 1

// Snapshot returns a snapshot as the command line prints it: a value for encoding/json in the
// contract's form. Ages and TTLs are as of TakenAt. Text from servers is escaped.
func Snapshot(s *inspect.Snapshot) any {
	d := documentOf(s)
	for _, l := range byID(s) {
		d.Locks = append(d.Locks, lockJSON(s, l))
	}
	return d
}

// Write writes that form, indented by one space, lock by lock, since the text of a large cluster
// is many times larger than the snapshot. It returns the writer's error.
func Write(w io.Writer, s *inspect.Snapshot) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	indent := func(value any, prefix string) ([]byte, error) {
		text.Reset()
		e.SetIndent(prefix, " ")
		err := e.Encode(value)
		return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
	}
	indented, err := indent(documentOf(s), "")
	if err != nil {
		return err
	}
	const none = "[]\n}" // the document ends with an empty list of locks
	out.Write(bytes.TrimSuffix(indented, []byte(none)))
	between, end := "[\n  ", none+"\n"
	for _, l := range byID(s) {
		indented, err := indent(lockJSON(s, l), "  ")
		if err != nil {
			return err
		}
		out.WriteString(between)
		out.Write(indented)
		between, end = ",\n  ", "\n ]\n}\n"
	}
	out.WriteString(end)
	return out.Flush() // with the error of the first write that failed
}

// documentOf is the snapshot's document without its locks.
func documentOf(s *inspect.Snapshot) document {
	d := document{Version: SchemaVersion, TakenAt: stamp(s.TakenAt), Backends: []jsonBackend{}, Locks: []jsonLock{}}
	for _, b := range s.Backends {
		d.Backends = append(d.Backends, backendJSON(b))
	}
	return d
}

// byID returns the locks ordered by their IDs as written, which may differ from the order of the
// servers' names.
func byID(s *inspect.Snapshot) []*inspect.Lock {
	locks := slices.Collect(s.Locks())
	slices.SortFunc(locks, func(a, b *inspect.Lock) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	return locks
}

// Lock is one lock of the snapshot in the same form.
func Lock(s *inspect.Snapshot, l *inspect.Lock) any { return lockJSON(s, l) }

// Backend is one backend in the same form.
func Backend(b *inspect.Backend) any { return backendJSON(b) }

// Contender is one contender in the same form. Its ages are as of at, by our clock, and use the
// clock of backend b, or only ours if b is nil.
func Contender(c *inspect.Contender, at time.Time, b *inspect.Backend) any {
	return contenderJSON(c, at, b)
}

type document struct {
	Version  int           `json:"version"`
	TakenAt  string        `json:"taken_at"`
	Backends []jsonBackend `json:"backends"`
	Locks    []jsonLock    `json:"locks"`
}

type jsonBackend struct {
	Name     string               `json:"name"`
	Kind     inspect.BackendKind  `json:"kind"`
	State    inspect.BackendState `json:"state"`
	Mode     inspect.Mode         `json:"mode"`
	Error    string               `json:"error"`
	Servers  []jsonServer         `json:"servers"`
	Sought   *jsonSought          `json:"looked_for,omitempty"`
	Unseen   []inspect.Unseen     `json:"unseen,omitempty"`
	Findings []jsonFinding        `json:"findings"`
}

// jsonSought describes what we looked for. Among is nil if the keys were not counted.
type jsonSought struct {
	Patterns  []string       `json:"patterns"`
	Among     *int           `json:"among"`
	Elsewhere []jsonDatabase `json:"elsewhere"`
}

// jsonDatabase is another database of the same servers, with its keys.
type jsonDatabase struct {
	Database int `json:"database"`
	Keys     int `json:"keys"`
}

func soughtJSON(s *inspect.Sought) *jsonSought {
	if len(s.For) == 0 {
		return nil
	}
	j := jsonSought{Patterns: []string{}, Elsewhere: []jsonDatabase{}}
	for _, p := range s.For {
		j.Patterns = append(j.Patterns, inspect.Escape(p))
	}
	if s.Counted {
		j.Among = &s.Among
	}
	for _, d := range s.Elsewhere {
		j.Elsewhere = append(j.Elsewhere, jsonDatabase{d.Index, d.Keys})
	}
	return &j
}

type jsonServer struct {
	Addr          string              `json:"addr"`
	State         inspect.ServerState `json:"state"`
	Role          string              `json:"role"`
	LatencyMS     *float64            `json:"latency_ms"`
	ClockOffsetMS *float64            `json:"clock_offset_ms"`
	Lagging       bool                `json:"lagging,omitempty"`
}

// jsonLock has a field for each key of a lock.
type jsonLock struct {
	ID         string            `json:"id"`
	Backend    string            `json:"backend"`
	Path       string            `json:"path"`
	Kind       inspect.Kind      `json:"kind"`
	KindSure   recipe.Confidence `json:"kind_confidence,omitempty"`
	Recipe     string            `json:"recipe"`
	Confidence recipe.Confidence `json:"recipe_confidence"`
	State      inspect.State     `json:"state"`
	Limit      *int              `json:"limit"`
	Holders    []jsonContender   `json:"holders"`
	Waiters    []jsonContender   `json:"waiters"`
	AtLeast    int               `json:"waiters_at_least,omitempty"`
	Masters    []jsonMaster      `json:"masters"`
	Quorum     *int              `json:"quorum"`
	Margin     *int              `json:"margin"`
	ValidityMS *int64            `json:"validity_ms"`
	Usual      *jsonUsual        `json:"usual_hold,omitempty"`
	Renewal    *jsonRenewal      `json:"renewal,omitempty"`
	Grants     *jsonGrants       `json:"grants,omitempty"`
	Unseen     []inspect.Unseen  `json:"unseen,omitempty"`
	Findings   []jsonFinding     `json:"findings"`
}

// jsonRenewal is the rhythm of the current holder's renewals, and jsonGrants the number of grants,
// both as watched.
type jsonRenewal struct {
	Count   int    `json:"count"`
	EveryMS *int64 `json:"every_ms"`
	Last    string `json:"last"`
	Missed  int    `json:"missed"`
}

type jsonGrants struct {
	Count int    `json:"count"`
	Since string `json:"since"`
}

// jsonUsual is the longest usual hold, and its origin: configuration or history.
type jsonUsual struct {
	MS   int64  `json:"ms"`
	From string `json:"from"`
}

type jsonMaster struct {
	Addr   string              `json:"addr"`
	State  inspect.ServerState `json:"state"`
	Vote   bool                `json:"vote"`
	Value  string              `json:"value"`
	Digest string              `json:"value_digest,omitempty"`
	TTLMS  *int64              `json:"ttl_ms"`
}

type jsonContender struct {
	Name         string                 `json:"name"`
	Digest       string                 `json:"value_digest,omitempty"`
	Sequence     *int32                 `json:"sequence"`
	Mode         string                 `json:"mode"`
	State        inspect.ContenderState `json:"state"`
	Count        int32                  `json:"count"`
	Owner        jsonOwner              `json:"owner"`
	Since        *string                `json:"since"`
	HeldSince    *string                `json:"held_since"`
	SeenSince    *string                `json:"seen_since,omitempty"`
	AgeMS        *int64                 `json:"age_ms"`
	AgeKnown     *bool                  `json:"age_known,omitempty"`
	TTLMS        *int64                 `json:"ttl_ms"`
	Dead         bool                   `json:"dead,omitempty"`
	Revocable    bool                   `json:"revocable,omitempty"`
	Watches      *string                `json:"watches"`
	Confirmed    *bool                  `json:"watch_confirmed"`
	WatchesGone  string                 `json:"watches_gone,omitempty"`
	BlockedBelow int32                  `json:"blocked_below"`
}

type jsonOwner struct {
	Label     string `json:"label"`
	Session   string `json:"session"`
	Client    string `json:"client"`
	Server    string `json:"server"`
	Host      string `json:"host"`
	PID       string `json:"pid"`
	Thread    string `json:"thread"`
	LibraryID string `json:"library_id"`

	HostName *jsonHostName `json:"host_name,omitempty"`
}

type jsonHostName struct {
	Name string `json:"name"`
	From string `json:"from"` // configuration
}

func backendJSON(b *inspect.Backend) jsonBackend {
	j := jsonBackend{
		Name: b.Name, Kind: b.Kind, State: b.State, Mode: b.Mode, Error: inspect.Escape(b.Error),
		Servers: []jsonServer{}, Sought: soughtJSON(&b.Sought), Unseen: unseen(b.Unseen),
		Findings: findings(b.Findings),
	}
	for _, s := range b.Servers {
		server := jsonServer{
			Addr: inspect.Escape(s.Addr), State: s.State, Role: inspect.Escape(s.Role),
			Lagging: s.Lagging,
		}
		if s.Latency >= 0 && s.State == inspect.ServerUp {
			server.LatencyMS = fraction(s.Latency)
		}
		if s.ClockKnown {
			server.ClockOffsetMS = fraction(s.ClockOffset)
		}
		j.Servers = append(j.Servers, server)
	}
	return j
}

func lockJSON(s *inspect.Snapshot, l *inspect.Lock) jsonLock {
	b := s.Backend(l.ID.Backend)
	j := jsonLock{
		ID: l.ID.String(), Backend: l.ID.Backend, Path: inspect.Escape(l.ID.Path),
		Kind: l.Kind, KindSure: l.KindConfidence, Recipe: l.Recipe, Confidence: l.Confidence, State: l.State,
		Holders: contendersJSON(s, l.Holders, b), Waiters: contendersJSON(s, l.Waiters, b),
		AtLeast: l.WaitersAtLeast,
		Masters: []jsonMaster{}, Unseen: unseen(l.Unseen), Findings: findings(l.Findings),
	}
	if l.Limit > 0 {
		j.Limit = &l.Limit
	}
	for _, m := range l.Masters {
		j.Masters = append(j.Masters, masterJSON(m, s.TakenAt))
	}
	if usual, learnt := l.UsualHold(); usual > 0 {
		j.Usual = &jsonUsual{MS: usual.Milliseconds(), From: "configuration"}
		if learnt {
			j.Usual.From = "history"
		}
	}
	if h := l.Observed.History; h != nil {
		j.Grants = &jsonGrants{h.Grants, stamp(h.Since)}
		if r := &h.Renewal; r.Count > 0 {
			j.Renewal = &jsonRenewal{Count: r.Count, Last: stamp(r.Last), Missed: r.Skipped}
			if r.Every > 0 {
				j.Renewal.EveryMS = whole(r.Every)
			}
		}
	}
	if len(l.Masters) > 0 {
		j.Quorum, j.Margin = &l.Quorum, &l.Margin
	}
	if !l.ValidUntil.IsZero() {
		j.ValidityMS = whole(max(0, l.ValidUntil.Sub(s.TakenAt)))
	}
	return j
}

func masterJSON(m inspect.Vote, at time.Time) jsonMaster {
	j := jsonMaster{
		Addr: inspect.Escape(m.Addr), State: inspect.ServerDown, Vote: m.Agrees, Value: m.Value.String(),
		Digest: m.Digest,
	}
	if !m.Up {
		return j
	}
	j.State = inspect.ServerUp
	switch {
	case !m.Present:
		j.TTLMS = new(int64(-2))
	case m.NoExpiry:
		j.TTLMS = new(int64(-1))
	case !m.ExpiresAt.IsZero():
		j.TTLMS = whole(max(0, m.ExpiresAt.Sub(at)))
	}
	return j
}

func contendersJSON(s *inspect.Snapshot, cs []inspect.Contender, b *inspect.Backend) []jsonContender {
	js := make([]jsonContender, 0, len(cs))
	for i := range cs {
		j := contenderJSON(&cs[i], s.TakenAt, b)
		if n, ok := s.HostName(&cs[i].Owner); ok {
			j.Owner.HostName = &jsonHostName{Name: n.String(), From: "configuration"}
		}
		js = append(js, j)
	}
	return js
}

func contenderJSON(c *inspect.Contender, at time.Time, b *inspect.Backend) jsonContender {
	j := jsonContender{
		Name: c.Name.String(), Digest: c.Digest, Mode: "exclusive", State: c.State, Count: max(1, c.Count),
		Owner: jsonOwner{
			Label: c.Owner.Label.String(), Session: inspect.SessionID(c.Owner.Session),
			Client: inspect.Escape(c.Owner.Client),
			Server: inspect.Escape(c.Owner.Server), Host: c.Owner.Host.String(), PID: c.Owner.PID.String(),
			Thread: c.Owner.Thread.String(), LibraryID: c.Owner.LibraryID.String(),
		},
		Since: optionalStamp(c.Since), HeldSince: optionalStamp(c.HeldSince), SeenSince: optionalStamp(c.Seen),
		Dead: c.Dead, Revocable: c.Revocable, BlockedBelow: c.BlockedBelow, WatchesGone: c.WatchesGone.String(),
	}
	if c.Sequential {
		j.Sequence = &c.Sequence
	}
	if c.Mode == recipe.Shared {
		j.Mode = "shared"
	}
	if age, ok := b.Age(c, c.Since, at); ok {
		j.AgeMS = whole(age.Duration)
		if !age.Known {
			j.AgeKnown = &age.Known
		}
	}
	if c.NoExpiry {
		j.TTLMS = new(int64(-1))
	} else if !c.ExpiresAt.IsZero() {
		j.TTLMS = whole(max(0, c.ExpiresAt.Sub(at)))
	}
	if c.Watches != "" {
		j.Watches = new(c.Watches.String())
	}
	if c.Watch != inspect.Unconfirmed {
		j.Confirmed = new(c.Watch == inspect.Confirmed)
	}
	return j
}

// jsonFinding is a finding with the text of its steps added.
type jsonFinding struct {
	inspect.Finding
	Advice string `json:"advice"`
}

func findingJSON(f inspect.Finding) jsonFinding {
	if f.Evidence == nil {
		f.Evidence = map[string]any{}
	}
	if f.Steps == nil {
		f.Steps = []inspect.Step{}
	}
	return jsonFinding{f, f.Advice()}
}

func findings(fs []inspect.Finding) []jsonFinding {
	return each.Of(fs, findingJSON)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func optionalStamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(stamp(t))
}

func whole(d time.Duration) *int64 { return new(d.Milliseconds()) }

// fraction converts a duration to milliseconds with three decimals.
func fraction(d time.Duration) *float64 {
	return new(math.Round(float64(d)/float64(time.Microsecond)) / 1000)
}

// unseen escapes the servers' text.
func unseen(list []inspect.Unseen) []inspect.Unseen {
	escaped := slices.Clone(list)
	for i := range escaped {
		u := &escaped[i]
		u.Advice = inspect.Escape(u.Advice)
		u.Where, u.Read, u.Right, u.Reason = inspect.Escape(u.Where), inspect.Escape(u.Read), inspect.Escape(u.Right), inspect.Untrusted(u.Reason).Cut(240)
	}
	return escaped
}
