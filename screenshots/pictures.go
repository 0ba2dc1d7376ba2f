package main

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// picture is a window of a given size, and the steps before the picture is taken.
type picture struct {
	name, about   string
	width, height int
	// at is a moment of the recording. If it is 0, args run the program itself.
	at    time.Duration
	args  []string
	env   []string
	light bool // the terminal's background
	steps []step
	// frames, if not 0, is the number of frames of a film. They are taken from at on, with every as
	// the interval.
	frames int
	every  time.Duration
}

// step is a line of a script.
type step func(context.Context, *terminal) error

const (
	enter  = "\r"
	escape = "\x1b"
	up     = "\x1b[A"
)

// stuck is a moment of the recording long after a holder hung, with five readers and a split vote.
const stuck = 45 * time.Second

// pictures lists all pictures; a new one is one more entry.
func pictures() []picture {
	demo := []string{"demo"}
	return []picture{
		{name: "locks", about: "all locks, of ZooKeeper and of Redis", width: 120, height: 30, at: stuck, steps: script(see("stuck-holder"))},
		{name: "chain", about: "a stuck lock: who holds it, who waits for whom, what to do", width: 120, height: 36, at: stuck, steps: script(open("payments"))},
		{name: "timeline", about: "a fair queue over time", width: 120, height: 30, at: stuck, steps: script(open("orders"), press("t"), inBreadcrumb("timeline"))},
		{name: "findings", about: "all problems, with evidence and advice", width: 120, height: 30, at: stuck, steps: script(see("stuck-holder"), press("f"), inBreadcrumb("findings"))},
		{name: "deadlock", about: "who waits for whom, a deadlock as a ring", width: 120, height: 26, at: stuck, steps: script(open("accounts"), press("c"), inBreadcrumb("clients"), press("w"), see("deadlock"))},
		{name: "redlock", about: "five masters, torn between three clients", width: 120, height: 32, at: stuck, steps: script(open("seats"))},
		{name: "wide", about: "the locks with the chain next to them", width: 160, height: 50, at: stuck, steps: script(filter("orders"), press(escape), see("stuck-holder"))},
		{name: "light", about: "the same on a light background", width: 120, height: 30, at: stuck, light: true, steps: script(see("stuck-holder"))},
		{name: "plain", about: "the smallest window, without colours", width: 80, height: 24, at: stuck, env: []string{"NO_COLOR=1"}, steps: script(see("stuck-holder"))},
		{
			name: "fair", about: "a fair queue, live", width: 100, height: 32, at: 30 * time.Second,
			steps: script(open("orders")), frames: 30, every: 400 * time.Millisecond,
		},
		{
			name: "release", about: "the dialog of a force-release, with what will happen", width: 120, height: 36, args: demo,
			steps: script(open("reports"), match("two long waiters", `2 waiting`, `longest wait \d\ds`), press("x"), see("Force-release", "Cancel")),
		},
		{
			name: "lab", about: "a queue against a race, side by side", width: 160, height: 45, args: demo,
			steps: script(
				see("payments"), press("L"), inBreadcrumb("lab"), press("\t"), inBreadcrumb("contention"), press("n"), see("workers"), press(up, enter),
				match("some seconds of a run", `acquired +[3-9]\d, `),
			),
		},
	}
}

func script(parts ...any) []step {
	var steps []step
	for _, p := range parts {
		switch p := p.(type) {
		case step:
			steps = append(steps, p)
		case []step:
			steps = append(steps, p...)
		}
	}
	return steps
}

// filter shows only the locks with a word.
func filter(word string) []step {
	return []step{see(word), press("/"), press(strings.Split(word, "")...), press(enter), match("one lock", `\b1 of `)}
}

// open opens the lock with a word.
func open(word string) []step {
	return append(filter(word), press(enter), inBreadcrumb("chain"))
}

// press types keys one at a time, as a user would.
func press(keys ...string) step {
	return func(_ context.Context, t *terminal) error {
		for _, k := range keys {
			if _, err := io.WriteString(t.tty, k); err != nil {
				return err
			}
		}
		return nil
	}
}

// see waits until all texts are on the screen.
func see(texts ...string) step {
	return func(ctx context.Context, t *terminal) error {
		return t.await(ctx, strings.Join(texts, ", "), func(screen string) bool {
			for _, text := range texts {
				if !strings.Contains(screen, text) {
					return false
				}
			}
			return true
		})
	}
}

// inBreadcrumb waits until a screen is in front.
func inBreadcrumb(screen string) step { return match(screen, "[▸>] "+screen) }

// match waits until all of the regular expressions match the screen.
func match(what string, expressions ...string) step {
	list := make([]*regexp.Regexp, len(expressions))
	for i, e := range expressions {
		list[i] = regexp.MustCompile(e)
	}
	return func(ctx context.Context, t *terminal) error {
		return t.await(ctx, what, func(screen string) bool {
			return !slices.ContainsFunc(list, func(r *regexp.Regexp) bool { return !r.MatchString(screen) })
		})
	}
}
