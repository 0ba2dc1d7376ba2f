package tui

import (
	"cmp"
	"net"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/lockops/act"
	"github.com/lockscope/lockscope/tui/events"
	"github.com/lockscope/lockscope/tui/release"
	"github.com/lockscope/lockscope/tui/screen"
)

// acting has the actions on the lock or contender under the cursor, or on the marked locks.
type acting struct{ *world }

// actingKey is the key for a verb. help is its help text for one contender, open opens it for
// several locks.
type actingKey struct {
	verb            inspect.Verb
	key, hint, help string
	open            func(screen.Context, act.Releasers, []release.Choice) *release.Bulk
}

// actingKeys returns the keys that act on a contender, the mildest first.
func actingKeys() []actingKey {
	return []actingKey{
		{inspect.VerbAsk, "A", "ask", "ask the holder to release", release.NewBulkAsk},
		{inspect.VerbTTL, "X", "set TTL", "set the TTL of the lock's key", release.NewBulkTTL},
		{inspect.VerbRelease, "x", "force-release", "force-release the selected contender", release.NewBulk},
	}
}

// actions returns all acting keys, with the reason for each one that is disabled.
func (a acting) actions() []screen.Action {
	var list []screen.Action
	marked := a.marked()
	for _, k := range slices.Backward(actingKeys()) {
		one := screen.Action{Keys: []string{k.key}, Shown: k.key, Help: k.help, Writes: a.MayAct() == ""}
		if len(marked) > 0 {
			one.Disabled, one.Run = a.cannotActOnMany, func() tea.Cmd { return a.actOnMany(k) }
		} else {
			one.Disabled = func() string {
				_, why := a.aim(k.verb)
				return why
			}
			one.Run = func() tea.Cmd {
				about, _ := a.aim(k.verb)
				return release.Open(a.world, a.options.Release, k.verb, about)
			}
		}
		list = append(list, one)
	}
	return append(list,
		a.releaseOwn(),
		screen.Action{
			Keys: []string{"K"}, Shown: "K", Help: "disconnect the selected contender",
			Writes: a.MayAct() == "", Disabled: a.cannotEnd, Run: a.end,
		},
		screen.Action{
			Keys: []string{"m"}, Shown: "m", Help: "mute findings: no alert for a while",
			Disabled: func() string { return a.cannotMute(false) }, Run: a.mute,
		},
		screen.Action{
			Keys: []string{"M"}, Shown: "M", Help: "unmute findings: turn alerts back on",
			Disabled: func() string { return a.cannotMute(true) }, Run: a.unmute,
		},
	)
}

// hint returns the action that the footer offers: release of a lock, or the mildest step of a
// finding. A group has no hint, since each of its findings
// has different steps.
func (a acting) hint() []screen.Action {
	offer := func(verb inspect.Verb, text string) []screen.Action {
		for _, k := range actingKeys() {
			if k.verb != verb {
				continue
			}
			for _, one := range a.actions() {
				if one.Keys[0] == k.key {
					one.Hint = cmp.Or(text, k.hint)
					return []screen.Action{one}
				}
			}
		}
		return nil
	}
	if a.inFront == screen.Chain || a.inFront == screen.Locks && a.options.Release != nil {
		if a.notYours() == "" {
			own := a.releaseOwn()
			own.Shown = "r"
			return []screen.Action{own}
		}
		if a.Past() {
			return nil
		}
		text := ""
		if a.options.Release != nil && a.MayAct() != "" {
			text = "preview"
		}
		return append(offer(inspect.VerbRelease, text), a.muteHint()...)
	}
	if a.inFront != screen.Findings {
		return a.stepHint(offer)
	}
	return append(a.muteHint(), a.stepHint(offer)...)
}

// muteHint returns the key that mutes or unmutes. Muting comes late in the footer, except on Findings.
func (a acting) muteHint() []screen.Action {
	if a.options.Mutes == nil {
		return nil
	}
	if hint := a.unmuteHint(); hint != nil {
		return hint
	}
	return []screen.Action{{
		Keys: []string{"m"}, Shown: "m", Hint: "mute", Disabled: func() string { return a.cannotMute(false) },
		Run: a.mute, Late: a.inFront != screen.Findings,
	}}
}

// unmuteHint returns the key that unmutes if all findings of the selection are muted.
func (a acting) unmuteHint() []screen.Action {
	if a.cannotMute(false) == "" || a.cannotMute(true) != "" {
		return nil
	}
	return []screen.Action{{Keys: []string{"M"}, Shown: "M", Hint: "unmute", Run: a.unmute}}
}

// stepHint returns the key for the mildest step that the selected finding advises.
func (a acting) stepHint(offer func(inspect.Verb, string) []screen.Action) []screen.Action {
	found, ok := a.finding()
	if !ok || a.MayAct() != "" {
		return nil
	}
	for _, k := range actingKeys() {
		if _, ok := found.Step(k.verb); ok {
			if _, why := a.aim(k.verb); why != "" {
				return nil
			}
			return offer(k.verb, "")
		}
	}
	return nil
}

// finding returns the selected finding; false if the screen lists none.
func (a acting) finding() (*inspect.Finding, bool) {
	if s, ok := a.front().(screen.Diagnosing); ok {
		found, ok := s.Finding()
		return found.Finding, ok
	}
	return nil, false
}

// aim finds the subject of a verb. For a finding, it is the contender of its step for this verb,
// or else of its mildest step. That contender may be on another lock, as in a deadlock, where it
// is the cheapest hold. Elsewhere it is the selected contender. why is the reason if there is
// none, or if the action is not allowed.
func (a acting) aim(verb inspect.Verb) (about release.Subject, why string) {
	if found, ok := a.finding(); ok {
		about, why = a.stepOf(found, verb)
	} else {
		about.Lock, about.Contender, why = a.selected()
	}
	if why == "" {
		why = release.Refusal(a.world, a.options.Release, verb, about)
	}
	return about, why
}

func (a acting) stepOf(f *inspect.Finding, verb inspect.Verb) (about release.Subject, why string) {
	if step, ok := f.Step(verb); ok {
		return a.targetOf(step)
	}
	for _, k := range actingKeys() {
		if step, ok := f.Step(k.verb); ok {
			return a.targetOf(step)
		}
	}
	return about, "its advice names no contender: choose one on the chain (enter)"
}

// targetOf returns the contender or the vote that a step acts on. If there is none, why is the
// reason.
func (a acting) targetOf(step inspect.Step) (about release.Subject, why string) {
	l := a.snapshot.Lock(step.Lock)
	if l == nil || step.Owner == "" {
		return about, stepIsOver
	}
	for _, c := range slices.Concat(l.Holders, l.Waiters) {
		if c.Argument() != step.Owner {
			continue
		}
		if about.Contender != nil {
			return about, "several contenders have that name: choose one on the chain (enter)"
		}
		about = release.Subject{Lock: l, Contender: &c}
	}
	for i := 0; i < len(l.Masters) && about.Contender == nil; i++ {
		if v := &l.Masters[i]; v.Present && !v.Foreign && v.Argument() == step.Owner {
			about = release.Subject{Lock: l, Vote: true, Contender: &inspect.Contender{
				Name: v.Value, Special: inspect.Special{Digest: v.Digest},
				State: inspect.Waiting, Count: 1, ExpiresAt: v.ExpiresAt, NoExpiry: v.NoExpiry,
			}}
		}
	}
	if about.Contender == nil {
		return about, stepIsOver
	}
	return about, ""
}

const stepIsOver = "the contender that the advice names is gone"

// selected returns the contender under the cursor or, if a lock is selected, its only holder. For a
// finding, it is only the finding's contender. Once that is gone, the lock's present holder may be
// healthy.
func (a acting) selected() (l *inspect.Lock, c *inspect.Contender, why string) {
	pointing, points := a.front().(screen.Pointing)
	if points {
		if l, c = pointing.Contender(); c != nil {
			return l, c, ""
		}
	}
	if why = a.unchosen(); why != "" {
		return nil, nil, why
	}
	if id := a.front().Selected().Lock; id.Path == "" {
		return nil, nil, "no lock is selected"
	} else if l == nil {
		l = a.snapshot.Lock(id)
	}
	switch {
	case l == nil:
		why = "the lock is gone"
	case a.inFront == screen.Findings:
		why = "the finding's contender is gone: choose one on the chain (enter)"
	case len(l.Holders) == 0:
		why = "it has no holder"
	case a.inFront == screen.Chain:
		why = "this is a group: open it with enter and select one"
	case len(l.Holders) > 1:
		why = "it has several holders: choose one on the chain (enter)"
	default:
		return l, &l.Holders[0], ""
	}
	return l, nil, why
}

// unchosen is why nothing can be done about the newest of all events, or in the Lab about a lock
// that was selected before; empty elsewhere.
func (a acting) unchosen() string {
	if a.inFront == screen.Lab {
		return "the Lab is about your own locks: choose another in the list (1)"
	}
	if s, ok := a.front().(*events.Screen); ok && s.Unchosen() {
		return "the newest event changes by itself: move the cursor up to choose one"
	}
	return ""
}

// marked returns the locks chosen for an action on the current screen.
func (a acting) marked() []inspect.ID {
	if s, ok := a.front().(screen.Marking); ok {
		return s.Marked()
	}
	return nil
}

func (a acting) cannotActOnMany() string {
	switch {
	case a.options.Release == nil:
		return a.MayAct()
	case len(a.marked()) > screen.MostMarked:
		return screen.TooMany()
	}
	return ""
}

// actOnMany opens a dialog about all marked locks. It opens none if no marked finding advises its
// key.
func (a acting) actOnMany(k actingKey) tea.Cmd {
	list := a.choices(k.verb)
	if len(list) > 0 && !slices.ContainsFunc(list, func(c release.Choice) bool { return c.Why == "" }) {
		a.Flash(k.key + " is advised for none of these: select one and press y to copy its command")
		return nil
	}
	d := k.open(a.world, a.options.Release, list)
	a.Push(d)
	return d.Start()
}

// choices returns the marked locks, each once. For a group of findings, they are the targets of the
// findings' steps for the verb. These may be on other locks than the findings' own, and are only
// the contenders that the steps name. Each contender is listed once, and so is each reason to leave
// one out.
func (a acting) choices(verb inspect.Verb) (list []release.Choice) {
	add := func(c release.Choice) {
		same := func(o release.Choice) bool { return o.Lock == c.Lock && o.Owner == c.Owner && o.Why == c.Why }
		if c.Lock != nil && !slices.ContainsFunc(list, same) {
			list = append(list, c)
		}
	}
	s, ok := a.front().(screen.Diagnosing)
	if !ok {
		for _, id := range a.marked() {
			add(release.Choice{Lock: a.snapshot.Lock(id)})
		}
		return list
	}
	var left []release.Choice
	for _, found := range s.Findings() {
		if found.Finding.Muted != nil || found.On.Path == "" {
			continue
		}
		if c := a.choiceOf(found, verb); c.Why == "" {
			add(c)
		} else {
			left = append(left, c)
		}
	}
	for _, c := range left {
		add(c)
	}
	return list
}

// choiceOf returns the lock and contender of a finding's step. If there is none, Why is the reason.
func (a acting) choiceOf(found screen.FoundOn, verb inspect.Verb) release.Choice {
	step, ok := found.Finding.Step(verb)
	if !ok {
		return release.Choice{Lock: a.snapshot.Lock(found.On), Why: "its finding does not advise this"}
	}
	if _, why := a.targetOf(step); why != "" {
		return release.Choice{Lock: a.snapshot.Lock(found.On), Why: why}
	}
	return release.Choice{Lock: a.snapshot.Lock(step.Lock), Owner: step.Owner, Waiter: step.Waiter}
}

// clientOf returns the connection of a contender as its backend names it, or the reason why it is
// not known.
func (a acting) clientOf(l *inspect.Lock, c *inspect.Contender) (client, why string) {
	if b := a.snapshot.Backend(l.ID.Backend); b != nil && b.Kind == inspect.ZooKeeper {
		if c.Owner.Session == 0 {
			return "", "no session owns it: there is no client to end"
		}
		return inspect.SessionID(c.Owner.Session), ""
	}
	if c.Owner.Client == "" {
		return "", "its connection is unknown, since its value names none " +
			"(redis-cli client list shows all of them)"
	}
	if _, _, err := net.SplitHostPort(c.Owner.Client); err != nil {
		return "", "several connections from " + describe.Printable(c.Owner.Client) +
			" may be its own: which one is unknown"
	}
	return c.Owner.Client, ""
}

func (a acting) cannotEnd() string {
	l, c, why := a.selected()
	switch {
	case why != "":
		return why
	case a.options.End == nil:
		return cmp.Or(a.MayAct(), "no client can be ended here")
	}
	_, why = a.clientOf(l, c)
	return why
}

func (a acting) end() tea.Cmd {
	l, c, _ := a.selected()
	client, _ := a.clientOf(l, c)
	d := release.NewClient(a.world, a.options.End, l.ID.Backend, client, describe.Owner(c))
	a.Push(d)
	return d.Start()
}

// aimed returns the findings to mute: those under the cursor or, for a lock, its own. Each is
// listed once.
func (a acting) aimed(muted bool) []inspect.Mute {
	var found []screen.FoundOn
	add := func(id inspect.ID) {
		if l := a.snapshot.Lock(id); l != nil {
			for i := range l.Findings {
				found = append(found, screen.FoundOn{On: id, Finding: &l.Findings[i]})
			}
		}
	}
	switch s, marked := a.front(), a.marked(); {
	case a.inFront == screen.Findings:
		found = s.(screen.Diagnosing).Findings()
	case len(marked) > 0:
		for _, one := range marked {
			add(one)
		}
	default:
		if l, _, _ := a.selected(); l != nil {
			add(l.ID)
		}
	}
	var list []inspect.Mute
	for _, f := range found {
		one := inspect.Mute{Lock: f.On, Rule: f.Finding.Rule}
		if (f.Finding.Muted != nil) == muted && !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

func (a acting) cannotMute(muted bool) string {
	switch {
	case a.Past():
		return a.whyReadOnly()
	case a.options.Mutes == nil && a.options.Sandbox:
		return "the demo does not save mutes"
	case a.options.Mutes == nil:
		return "mutes are not saved here"
	case a.unchosen() != "":
		return a.unchosen()
	case len(a.aimed(muted)) > 0:
		return ""
	case muted:
		return "nothing here is muted: /muted on the lock list shows what is"
	case len(a.aimed(true)) > 0:
		return "already muted: M unmutes it"
	}
	return "nothing to mute here"
}

func (a acting) mute() tea.Cmd {
	a.Push(release.NewMute(a.world, a.options.Mutes, a.aimed(false)))
	return nil
}

func (a acting) unmute() tea.Cmd { return release.Unmute(a.world, a.options.Mutes, a.aimed(true)) }
