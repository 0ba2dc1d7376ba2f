package tui

import (
	"cmp"
	"net"
	"slices"

	tea "charm.land/bubbletea/v2"

	"lockscope/inspect"
	"lockscope/inspect/describe"
	"lockscope/lockops/act"
	"lockscope/tui/release"
	"lockscope/tui/screen"
)

// actingActions act on what is under the cursor, or on the locks that are marked, on every screen that does
// not do so itself.
func (m *Model) actingActions() []screen.Action {
	onChain := func(key, help string) screen.Action {
		return screen.Action{
			Keys: []string{key}, Shown: key, Help: help,
			Disabled: m.noLock, Run: func() tea.Cmd {
				at, why := m.aim(key)
				if why != "" {
					m.Flash(why)
					return nil
				}
				return m.actOnChain(at, key)
			},
		}
	}
	list := []screen.Action{
		onChain("x", "force-release: the lock's holder, or the selected client's place; or all marked"),
		onChain("X", "set a TTL: of the lock's key, or all marked"),
		onChain("A", "ask the holder, or all marked, to let go"),
	}
	if marked := m.marked(); len(marked) > 0 {
		list[0].Disabled, list[0].Run = m.cannotActOnMany, func() tea.Cmd { return m.actOnMany("x", release.NewBulk) }
		list[1].Disabled, list[1].Run = m.cannotActOnMany, func() tea.Cmd { return m.actOnMany("X", release.NewBulkTTL) }
		list[2].Disabled, list[2].Run = m.cannotActOnMany, func() tea.Cmd { return m.actOnMany("A", release.NewBulkAsk) }
	}
	return append(list,
		screen.Action{
			Keys: []string{"K"}, Shown: "K", Help: "end the selected contender's client: preview, then type its address",
			Writes: m.MayAct() == "", Disabled: m.cannotEnd, Run: m.end,
		},
		screen.Action{
			Keys: []string{"m"}, Shown: "m", Help: "mute: acknowledge the finding, those of the lock, or of all marked, for a while",
			Disabled: func() string { return m.cannotMute(false) }, Run: m.mute,
		},
		screen.Action{
			Keys: []string{"M"}, Shown: "M", Help: "unmute: the same findings alert again",
			Disabled: func() string { return m.cannotMute(true) }, Run: m.unmute,
		},
	)
}

// actingHelp are these keys for the help, but for those that the screen in front has itself.
func (m *Model) actingHelp() []screen.Action {
	return slices.DeleteFunc(m.actingActions(), func(a screen.Action) bool {
		return slices.ContainsFunc(m.front().Actions(), func(own screen.Action) bool { return slices.Contains(own.Keys, a.Keys[0]) })
	})
}

func (m *Model) noLock() string {
	if about := m.front().Selected(); about.Lock == (inspect.ID{}) || about.Lock.Path == "" {
		return "no lock is selected"
	}
	return ""
}

// target of a key. Nobody holds the lock by a vote: a value that too few masters have.
type target struct {
	screen.Subject
	contender inspect.Contender
	vote      bool
}

// actOnChain opens the selected lock's chain and there the dialog of a key.
func (m *Model) actOnChain(about target, key string) tea.Cmd {
	m.Go(screen.Chain, about.Subject)
	cmd := m.navigate()
	if about.vote {
		return tea.Batch(cmd, m.actOnVote(about, key))
	}
	at := m.front().Selected()
	if _, c := m.contender(); about.Owner != (inspect.Identity{}) && at.Owner != about.Owner || about.Contender != "" && (c == nil || c.Name != about.Contender) {
		m.Flash("who is meant is not in sight: select it here")
		return cmd
	}
	dialog, _ := screen.Press(m, m.front().Actions(), key)
	return tea.Batch(cmd, dialog)
}

// actOnVote opens the dialog of a key about a value that too few masters have: what the advised command does.
func (m *Model) actOnVote(about target, key string) tea.Cmd {
	switch {
	case m.options.Release == nil, m.Past(): // the preview would be of now
		m.Flash(m.MayAct())
		return nil
	case key == "A":
		m.Flash("nobody holds it by that value: there is nobody to ask")
		return nil
	}
	l := m.snapshot.Lock(about.Lock)
	releaser, ok := m.options.Release(about.Lock.Backend)
	if !ok || l == nil {
		m.Flash("backend " + describe.Printable(about.Lock.Backend) + " cannot be written to")
		return nil
	}
	open := release.NewVote
	if key == "X" {
		open = release.NewTTL
	}
	d := open(m.world, releaser, l, &about.contender)
	m.Push(d)
	return d.Start()
}

// advice is a step that a key does here, the mildest first.
type advice struct {
	verb      inspect.Verb
	key, hint string
}

func advices() []advice {
	return []advice{{inspect.VerbAsk, "A", "ask"}, {inspect.VerbTTL, "X", "set TTL"}, {inspect.VerbRelease, "x", "release"}}
}

// advised is the key for the mildest step of the selected finding that a key does here; none where that
// step's contender is gone, or nothing may be done. A group has none: each of its findings has steps of its
// own.
func (m *Model) advised() []screen.Action {
	s, ok := m.front().(screen.Diagnosing)
	if !ok || m.MayAct() != "" {
		return nil
	}
	found, ok := s.Finding()
	if !ok {
		return nil
	}
	for _, one := range advices() {
		step, ok := found.Finding.Step(one.verb)
		if !ok {
			continue
		}
		if _, why := m.targetOf(step); why != "" {
			return nil
		}
		for _, a := range m.actingActions() {
			if a.Keys[0] == one.key {
				a.Hint = one.hint
				return []screen.Action{a}
			}
		}
	}
	return nil
}

// aim finds what a key is about: on a finding the contender of its step for this key, else of its mildest
// step. That need not be of the lock that the finding is on: a deadlock has a cheapest hold. Elsewhere it is
// what is selected. why is not empty where no step has a contender, or it is gone.
func (m *Model) aim(key string) (about target, why string) {
	s, ok := m.front().(screen.Diagnosing)
	if !ok {
		return target{Subject: m.front().Selected()}, ""
	}
	found, ok := s.Finding()
	if !ok {
		return target{Subject: m.front().Selected()}, ""
	}
	list := advices()
	slices.SortStableFunc(list, func(a, b advice) int { // the key's own first
		return cmp.Compare(map[bool]int{true: 1}[a.key != key], map[bool]int{true: 1}[b.key != key])
	})
	for _, one := range list {
		if step, ok := found.Finding.Step(one.verb); ok {
			return m.targetOf(step)
		}
	}
	return target{}, "no step of it names a contender: enter opens the chain, choose there"
}

// targetOf is the contender that a step acts on, or the value of a vote; or why there is none.
func (m *Model) targetOf(step inspect.Step) (about target, why string) {
	l := m.snapshot.Lock(step.Lock)
	if l == nil || step.Owner == "" {
		return target{}, stepIsOver
	}
	var meant []inspect.Contender
	for _, c := range slices.Concat(l.Holders, l.Waiters) {
		if c.Argument() == step.Owner {
			meant = append(meant, c)
		}
	}
	if len(meant) == 1 {
		who, _ := meant[0].Identity(l.ID.Backend)
		return target{Subject: screen.Subject{Lock: l.ID, Owner: who, Contender: meant[0].Name}, contender: meant[0]}, ""
	}
	if len(meant) > 1 {
		return target{}, "several contenders have that name: choose one on the chain (enter)"
	}
	for i := range l.Masters {
		if v := &l.Masters[i]; v.Present && !v.Foreign && v.Argument() == step.Owner {
			c := inspect.Contender{
				Name: v.Value, Special: inspect.Special{Digest: v.Digest},
				State: inspect.Waiting, Count: 1, ExpiresAt: v.ExpiresAt, NoExpiry: v.NoExpiry,
			}
			return target{Subject: screen.Subject{Lock: l.ID}, contender: c, vote: true}, ""
		}
	}
	return target{}, stepIsOver
}

const stepIsOver = "who the advice names is gone: nothing is opened"

// marked are the locks that the screen in front has chosen for an action.
func (m *Model) marked() []inspect.ID {
	if s, ok := m.front().(screen.Marking); ok {
		return s.Marked()
	}
	return nil
}

func (m *Model) cannotActOnMany() string {
	switch {
	case m.options.Release == nil:
		return m.MayAct()
	case len(m.marked()) > screen.MostMarked:
		return screen.TooMany()
	}
	return ""
}

// actOnMany opens a dialog about all locks that are marked; none where the marked findings advise its key for nobody.
func (m *Model) actOnMany(key string, open func(screen.Context, act.Releasers, []release.Choice) *release.Bulk) tea.Cmd {
	list := m.choices(key)
	if len(list) > 0 && !slices.ContainsFunc(list, func(c release.Choice) bool { return c.Why == "" }) {
		m.Flash(key + " is advised for none of these: select one, y copies its command")
		return nil
	}
	d := open(m.world, m.options.Release, list)
	m.Push(d)
	return d.Start()
}

// choices are the locks that are marked, each once. Those of a group of findings are what these advise the
// key for, which need not be the lock that a finding stands on, and is never another's hold of it: each of a
// lock's contenders that they name, once, and of what is left out each reason.
func (m *Model) choices(key string) (list []release.Choice) {
	add := func(c release.Choice) {
		if c.Lock != nil && !slices.ContainsFunc(list, func(o release.Choice) bool { return o.Lock == c.Lock && o.Owner == c.Owner && o.Why == c.Why }) {
			list = append(list, c)
		}
	}
	s, ok := m.front().(screen.Diagnosing)
	if !ok {
		for _, id := range m.marked() {
			add(release.Choice{Lock: m.snapshot.Lock(id)})
		}
		return list
	}
	var left []release.Choice
	for _, found := range s.Findings() {
		if found.Finding.Muted != nil || found.On.Path == "" {
			continue
		}
		if c := m.choiceOf(found, key); c.Why == "" {
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

// choiceOf is the lock and the contender of a finding's step for a key; or why there is none.
func (m *Model) choiceOf(found screen.FoundOn, key string) release.Choice {
	at := slices.IndexFunc(advices(), func(one advice) bool { return one.key == key })
	step, ok := found.Finding.Step(advices()[at].verb)
	if !ok {
		return release.Choice{Lock: m.snapshot.Lock(found.On), Why: "its finding does not advise this"}
	}
	if _, why := m.targetOf(step); why != "" {
		return release.Choice{Lock: m.snapshot.Lock(found.On), Why: why}
	}
	return release.Choice{Lock: m.snapshot.Lock(step.Lock), Owner: step.Owner, Waiter: step.Waiter}
}

// contender is the one under the cursor or, where a lock is selected, its first holder. Of a finding it is
// the one that it is about, and nobody else where that is gone: the lock's holder may be well.
func (m *Model) contender() (*inspect.Lock, *inspect.Contender) {
	if s, ok := m.front().(screen.Pointing); ok {
		if l, c := s.Contender(); c != nil {
			return l, c
		}
	}
	l := m.snapshot.Lock(m.front().Selected().Lock)
	if l == nil || len(l.Holders) == 0 || m.inFront == screen.Findings {
		return l, nil
	}
	return l, &l.Holders[0]
}

// clientOf is the connection of a contender as its backend names it, or the reason why it is not known.
func (m *Model) clientOf(l *inspect.Lock, c *inspect.Contender) (client, why string) {
	if b := m.snapshot.Backend(l.ID.Backend); b != nil && b.Kind == inspect.ZooKeeper {
		if c.Owner.Session == 0 {
			return "", "no session owns it: there is no client to end"
		}
		return inspect.SessionID(c.Owner.Session), ""
	}
	if c.Owner.Client == "" {
		return "", "its connection is unknown: its value names none (see the clients of its server: redis-cli client list)"
	}
	if _, _, err := net.SplitHostPort(c.Owner.Client); err != nil {
		return "", "several connections from " + describe.Printable(c.Owner.Client) + " may be its own: which one is unknown"
	}
	return c.Owner.Client, ""
}

func (m *Model) cannotEnd() string {
	if why := m.noLock(); why != "" {
		return why
	}
	l, c := m.contender()
	switch {
	case l == nil:
		return "the lock is gone"
	case c == nil && m.inFront == screen.Findings:
		return "the finding's contender is gone: enter opens the chain, choose there"
	case c == nil:
		return "nobody holds it: there is no client to end"
	case m.options.End == nil:
		return cmp.Or(m.MayAct(), "no client can be ended here")
	}
	_, why := m.clientOf(l, c)
	return why
}

func (m *Model) end() tea.Cmd {
	l, c := m.contender()
	client, _ := m.clientOf(l, c)
	d := release.NewClient(m.world, m.options.End, l.ID.Backend, client, describe.Owner(c))
	m.Push(d)
	return d.Start()
}

// aimed are the findings that a mute is about: those under the cursor or, of a lock, its own. Each is named once.
func (m *Model) aimed(muted bool) []inspect.Mute {
	var found []screen.FoundOn
	add := func(id inspect.ID) {
		if l := m.snapshot.Lock(id); l != nil {
			for i := range l.Findings {
				found = append(found, screen.FoundOn{On: id, Finding: &l.Findings[i]})
			}
		}
	}
	switch s, marked := m.front(), m.marked(); {
	case m.inFront == screen.Findings:
		found = s.(screen.Diagnosing).Findings()
	case len(marked) > 0:
		for _, one := range marked {
			add(one)
		}
	default:
		add(s.Selected().Lock)
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

func (m *Model) cannotMute(muted bool) string {
	switch {
	case m.inPast():
		return m.whyReadOnly()
	case m.options.Mutes == nil && m.options.Sandbox:
		return "the demo keeps no mutes"
	case m.options.Mutes == nil:
		return "mutes are not kept here"
	case len(m.aimed(muted)) > 0:
		return ""
	case muted:
		return "nothing here is muted"
	case len(m.aimed(true)) > 0:
		return "it is muted already: M has it call again"
	}
	return "no finding here to acknowledge"
}

func (m *Model) mute() tea.Cmd {
	m.Push(release.NewMute(m.world, m.options.Mutes, m.aimed(false)))
	return nil
}

func (m *Model) unmute() tea.Cmd { return release.Unmute(m.world, m.options.Mutes, m.aimed(true)) }

// muted takes what came of muting: that of a dialog is the dialog's.
func (m *Model) muted(msg release.MutedMsg) tea.Cmd {
	switch {
	case msg.Generation != 0:
		return m.toDialogs(msg)
	case msg.Err != nil:
		m.Flash(describe.OneLine(msg.Err))
	default:
		m.Flash(msg.Text)
	}
	return nil
}
