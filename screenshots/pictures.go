package main

import (
	"context"
	"io"
	"regexp"
	"slices"
	"strings"
)

// picture is what to run, in a window of how many cells, and what to do until it is worth a picture.
type picture struct {
	name, about   string
	width, height int
	args, env     []string
	steps         []step
}

// step is a line of a script.
type step func(context.Context, *terminal) error

const (
	enter  = "\r"
	escape = "\x1b"
)

// pictures are all there are: a new one is one more entry.
func pictures() []picture {
	return []picture{
		{
			name: "locks", about: "all locks, of ZooKeeper and of Redis", width: 120, height: 30, args: []string{"demo"},
			steps: []step{settled()},
		},
		{
			name: "chain", about: "a fair queue: who waits on whom", width: 120, height: 36, args: []string{"demo"},
			steps: script(open("orders"), match("a queue and its past", `[45] wait`, `(?s)(⇢.*){2}`, `(?s)(handed over.*){4}`, `longest [^0]`)),
		},
		{
			name: "redlock", about: "five masters vote, one of them stopped", width: 120, height: 32, args: []string{"demo", "redlock"},
			steps: script(open("cart:42"), match("a lock held by four, for a while", `holds it with 4 of 5 votes for [1-5]\.`, `(?s)(handed over.*){2}`)),
		},
		{
			name: "release", about: "the dialog of a force-release, with what will happen", width: 120, height: 36, args: []string{"demo"},
			steps: script(
				open("reports"), match("two that wait a while", `2 wait`, `longest \d\ds`, `last contact \d`),
				press("x"), see("Force-release", "Cancel"),
			),
		},
		{
			name: "wide", about: "the locks with the chain beside them", width: 160, height: 50, args: []string{"demo"},
			// the selection stays on a lock that somebody has moved to
			steps: script(filter("orders"), press("j", escape), settled(), match("a queue and its past", `▌●.*orders`, `[345] wait`, `(?s)(handed over.*){4}`)),
		},
		{
			name: "plain", about: "the smallest window, without colours", width: 80, height: 24, args: []string{"demo"}, env: []string{"NO_COLOR=1"},
			steps: []step{settled()},
		},
	}
}

// settled waits for a screenful that is typical: all locks are there, held for a while, and some of them are contended.
func settled() step {
	return match("all locks, held and queued for", `/locks/reports.* 2 `, `/locks/billing.* [12] `, `/locks/orders.* [345] `, `/locker .* [12] `,
		`lock:cart:42 .*/5 +[2-5]\.`, `lock:invoices .*/5 +[2-5]\.`)
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

// filter leaves the locks that have a word.
func filter(word string) []step {
	return []step{see(word), press("/"), press(strings.Split(word, "")...), press(enter), match("one lock", `\b1 of `)}
}

// open opens the lock that has a word.
func open(word string) []step {
	return append(filter(word), press(enter), see("▸ chain"))
}

// press types keys, each by itself as a person would.
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

// see waits until all of the texts are on the screen.
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
