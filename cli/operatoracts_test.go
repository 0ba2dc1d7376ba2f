package cli

import (
	"regexp"
	"slices"
	"strings"
)

// work does what the screen says until it says nothing more and nothing is missing.
func (o *operatorAtScreen) work(missing func() []string) {
	o.t.Helper()
	o.missing = missing
	o.await("list of locks", func(s string) bool { return strings.Contains(s, "locks") })
	o.press("f")
	for {
		before := o.unkeyed
		r, ok := o.nextTask()
		switch {
		case ok:
			o.act(r)
		case o.copies(before):
		case len(missing()) == 0:
			return
		default:
			o.next("more to do")
		}
	}
}

// nextTask puts the cursor on the first finding for which the screen names a key; false: there is none, and all were read.
func (o *operatorAtScreen) nextTask() (r row, ok bool) {
	o.t.Helper()
	o.look()
	o.press("g")
	o.unkeyed = map[string]row{}
	for {
		r, ok := o.read()
		if !ok {
			return r, false
		}
		key := o.bulk[r.rule]
		switch {
		case r.group && key != "":
			r.key = key
			delete(o.bulk, r.rule)
			return r, true
		case r.group && strings.Contains(o.frame(), " unfold "):
			o.press("enter")
		case r.group:
		case r.key != "":
			return r, true
		default:
			o.unkeyed[r.about()], o.ever[r.about()] = r, r
		}
		o.press("j")
		if after, _ := o.read(); after.line == r.line {
			return row{}, false
		}
	}
}

// copies runs the first command that the screen advises without a key for it, now and when he went through the list before; false:
// there is none.
func (o *operatorAtScreen) copies(before map[string]row) bool {
	o.t.Helper()
	for about, r := range o.unkeyed {
		if r.command == "" || before[about].command != r.command {
			continue
		}
		got := run(o.t, append(wordsOf(o.t, r.command), "--yes")...)
		if got.code != 0 {
			o.t.Errorf("%s: exit code %d, %s", r.command, got.code, got.stderr)
		}
		o.did = append(o.did, screenDeed{r.rule, strings.Join(r.locks, " "), "copied", got.stdout})
		o.awaitGone(r.about())
		return true
	}
	return false
}

// awaitGone waits until a finding for which no key is named has gone from the list.
func (o *operatorAtScreen) awaitGone(about string) {
	o.t.Helper()
	for {
		_, keyed := o.nextTask()
		if _, there := o.unkeyed[about]; !there && !keyed {
			return
		}
		o.next("end of " + about)
	}
}

var (
	suggestedTime = regexp.MustCompile(`How long is the key to last, such as (\w+)`)
	askedPath     = regexp.MustCompile(`Type the path (\S+) to confirm`)
	askedNumber   = regexp.MustCompile(`Type their number (\d+) to confirm`)
	consents      = regexp.MustCompile(` enter (RELEASE|SET|ASK)`)
	onLocks       = regexp.MustCompile(`\d+ locks`)
	succeeded     = regexp.MustCompile(`● (Released: |Set: |It let go: |(\d+) of (\d+) done\.)`)
)

// act presses the key that a finding's row names, gives the dialogs what they ask for, and sees the finding go.
func (o *operatorAtScreen) act(r row) {
	o.t.Helper()
	if strings.Contains(r.about(), "used") {
		o.t.Fatalf("what is in use is to be acted on:\n%s", o.frame())
	}
	d := screenDeed{rule: r.rule, lock: strings.Join(r.locks, " "), key: r.key}
	if r.group {
		d.lock = "all"
	}
	o.press(r.key)
	for d.result == "" {
		d.result = o.answer(r)
	}
	if strings.Contains(d.result, "(gone)") { // the row was older than the server's answer: nothing was done, and he looks again
		o.press("enter", "f")
		return
	}
	o.did = append(o.did, d)
	if found := succeeded.FindStringSubmatch(d.result); found == nil || found[2] != found[3] {
		o.t.Fatalf("%+v", d)
	}
	o.press("enter")
	if r.group {
		o.await("end of "+r.rule+" on as many locks", func(string) bool {
			now, ok := o.read()
			return !ok || !now.group || now.rule != r.rule || onLocks.FindString(now.line) != onLocks.FindString(r.line)
		})
		return
	}
	gone := regexp.MustCompile(`(?m)^ [✖▲i] ` + r.rule + `  `)
	o.await("end of "+r.about()+" on the lock's chain", func(s string) bool { return strings.Contains(s, "▸ chain") && !gone.MatchString(s) })
	o.press("f")
}

// answer gives the dialog in front what it asks for, or waits for what it shows next; the result of one that has ended.
func (o *operatorAtScreen) answer(r row) (result string) {
	o.t.Helper()
	frame := o.frame()
	footer := frame[strings.LastIndex(strings.TrimRight(frame, "\n "), "\n")+1:]
	path, number, suggested := askedPath.FindStringSubmatch(frame), askedNumber.FindStringSubmatch(frame), suggestedTime.FindStringSubmatch(frame)
	switch {
	case strings.Contains(frame, "[ Close ]"):
		return resultOf(frame)
	case strings.Contains(footer, " w go on with a waiter"):
		o.press("w")
	case suggested != nil:
		o.types(suggested[1])
		o.press("enter")
	case strings.Contains(footer, " tab choose "):
		o.press("tab")
	case consents.MatchString(footer):
		o.press("enter")
	case path != nil:
		if !slices.ContainsFunc(r.locks, func(id string) bool { return strings.HasSuffix(id, ":"+path[1]) }) {
			o.t.Fatalf("%v: asked for %s", r.locks, path[1])
		}
		o.types(path[1])
	case number != nil:
		o.types(number[1])
	default:
		o.next("answer to the dialog")
	}
	return ""
}

// resultOf returns the text of a dialog that has ended, without its frame.
func resultOf(frame string) string {
	var said []string
	for l := range strings.SplitSeq(frame, "\n") {
		if _, inside, ok := strings.Cut(l, "│"); ok {
			inside, _, _ = strings.Cut(inside, "│")
			said = append(said, strings.TrimSpace(inside))
		}
	}
	return strings.Join(slices.DeleteFunc(said, func(s string) bool { return s == "" }), "\n")
}
