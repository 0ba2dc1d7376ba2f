package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockscope/inspect"
	"lockscope/inspect/describe"
)

// Filter selects the things of a list that match all of its terms. A term is a word that occurs in what
// is shown of a thing, or, on locks, a field such as held, age>5m or lib=curator; ! before it turns it round. The zero
// filter matches everything.
type Filter struct {
	terms []term
	// problems are the terms that cannot be read, in words. They match everything: what is mistyped hides nothing.
	problems []string
	// Timed: what matches changes with time alone.
	Timed bool
}

// term is one condition: a word in lower case or, on locks, a test.
type term struct {
	negated bool
	word    string
	test    func(FilterSubject) bool
}

// FilterSubject is a lock that a filter is asked about, with what its ages are computed from.
type FilterSubject struct {
	*inspect.Lock
	Snapshot *inspect.Snapshot
	Now      time.Time
}

// NewWords makes a filter of words only, for what is no lock.
func NewWords(text string) Filter {
	var f Filter
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if word, negated := negation(word); word != "" {
			f.terms = append(f.terms, term{negated: negated, word: word})
		}
	}
	return f
}

// NewFilter makes a filter of words and fields, for locks.
func NewFilter(text string) Filter {
	var f Filter
	for _, word := range strings.Fields(strings.ToLower(text)) {
		word, negated := negation(word)
		if word == "" {
			continue
		}
		t, timed, err := parseTerm(word)
		if err != nil {
			f.problems = append(f.problems, describe.Printable(err.Error()))
			continue
		}
		t.negated = negated
		f.terms = append(f.terms, t)
		f.Timed = f.Timed || timed
	}
	return f
}

func negation(word string) (rest string, negated bool) {
	rest, negated = strings.CutPrefix(word, "!")
	return rest, negated
}

// Problem is the filter's syntax errors, for people; empty without any.
func (f Filter) Problem() string { return strings.Join(f.problems, "; ") }

// Empty reports whether everything matches.
func (f Filter) Empty() bool { return len(f.terms) == 0 }

// MatchText reports whether the texts shown of a thing have all the words.
func (f Filter) MatchText(parts ...string) bool {
	for _, t := range f.terms {
		if t.word != "" && slices.ContainsFunc(parts, t.in) == t.negated {
			return false
		}
	}
	return true
}

// Match reports whether a lock matches.
func (f Filter) Match(p FilterSubject) bool {
	for _, t := range f.terms {
		found := false
		if t.test != nil {
			found = t.test(p)
		} else {
			found = p.says(t.in)
		}
		if found == t.negated {
			return false
		}
	}
	return true
}

func (t term) in(text string) bool { return strings.Contains(strings.ToLower(text), t.word) }

// says reports whether one of a lock's texts is as wanted.
func (p FilterSubject) says(wanted func(string) bool) bool {
	if wanted(p.ID.String()) || wanted(string(p.Kind)) || wanted(p.Recipe) || wanted(string(p.State)) {
		return true
	}
	return p.anyContender(func(c *inspect.Contender) bool {
		o := &c.Owner
		return wanted(o.Label.String()) || wanted(describe.Printable(o.Client)) || wanted(o.Host.String()) || wanted(c.Name.String()) ||
			o.Session != 0 && wanted(inspect.SessionID(o.Session))
	}) || slices.ContainsFunc(p.Findings, func(f inspect.Finding) bool { return wanted(f.Rule) })
}

func (p FilterSubject) anyContender(wanted func(*inspect.Contender) bool) bool {
	for _, list := range [][]inspect.Contender{p.Holders, p.Waiters} {
		for i := range list {
			if wanted(&list[i]) {
				return true
			}
		}
	}
	return false
}

// flagTests are the fields that are a word by themselves.
func flagTests() map[string]func(FilterSubject) bool {
	waiting := func(p FilterSubject) bool { return len(p.Waiters)+p.WaitersAtLeast > 0 }
	tests := map[string]func(FilterSubject) bool{
		"held":      func(p FilterSubject) bool { return len(p.Holders) > 0 },
		"waiting":   waiting,
		"contended": waiting,
		"finding":   func(p FilterSubject) bool { return len(p.Findings) > 0 },
		"critical":  func(p FilterSubject) bool { return describe.LevelOf(p.Lock) == describe.LevelCritical },
		"warning":   func(p FilterSubject) bool { return describe.LevelOf(p.Lock) == describe.LevelWarning },
	}
	for _, s := range describe.States() {
		if tests[string(s)] == nil {
			tests[string(s)] = func(p FilterSubject) bool { return p.State == s }
		}
	}
	return tests
}

// durationFields are the fields that are compared with a time; false: not known, which matches nothing.
func durationFields() map[string]func(FilterSubject) (time.Duration, bool) {
	return map[string]func(FilterSubject) (time.Duration, bool){
		"age": func(p FilterSubject) (time.Duration, bool) { return p.Snapshot.Age(p.Lock, HeldSince(p.Lock), p.Now) },
		"wait": func(p FilterSubject) (time.Duration, bool) {
			return p.Snapshot.Age(p.Lock, describe.OldestWaiter(p.Lock), p.Now)
		},
		"ttl": func(p FilterSubject) (time.Duration, bool) {
			at := Expiry(p.Lock)
			return max(0, at.Sub(p.Now)), !at.IsZero()
		},
	}
}

// textFields are the fields that are compared with a word.
func textFields() map[string]func(FilterSubject, string) bool {
	return map[string]func(FilterSubject, string) bool{
		"lib":     func(p FilterSubject, word string) bool { return strings.Contains(p.Recipe, word) },
		"kind":    func(p FilterSubject, word string) bool { return strings.HasPrefix(string(p.Kind), word) },
		"backend": func(p FilterSubject, word string) bool { return strings.HasPrefix(strings.ToLower(p.ID.Backend), word) },
		"rule": func(p FilterSubject, word string) bool {
			return slices.ContainsFunc(p.Findings, func(f inspect.Finding) bool { return strings.Contains(f.Rule, word) })
		},
		"client": func(p FilterSubject, word string) bool {
			return p.anyContender(func(c *inspect.Contender) bool {
				return startsWith(c.Owner.Client, word) || startsWith(strings.ToLower(c.Owner.Host.String()), word)
			})
		},
		"session": func(p FilterSubject, word string) bool {
			return p.anyContender(func(c *inspect.Contender) bool {
				return c.Owner.Session != 0 && strings.HasPrefix(inspect.SessionID(c.Owner.Session), word)
			})
		},
		"label": func(p FilterSubject, word string) bool {
			return p.anyContender(func(c *inspect.Contender) bool {
				return strings.Contains(strings.ToLower(c.Owner.Label.String()), word)
			})
		},
	}
}

// startsWith reports whether an address starts with a part of one: 10.2.0.4 is no part of 10.2.0.41.
func startsWith(addr, part string) bool {
	rest, ok := strings.CutPrefix(addr, part)
	return ok && (rest == "" || part == "" || !digit(rest[0]) || !digit(part[len(part)-1]))
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// FieldNames are the fields as the help and the errors name them.
const FieldNames = "held free waiting finding critical, age>5m wait>1m ttl<2s queue>3, lib= kind= backend= client= rule= session= label="

func parseTerm(word string) (t term, timed bool, err error) {
	if test := flagTests()[word]; test != nil {
		return term{test: test}, false, nil
	}
	at := strings.IndexAny(word, "<>=")
	if at <= 0 {
		return term{word: word}, false, nil
	}
	name, operator, value := word[:at], word[at:at+1], word[at+1:]
	if rest, ok := strings.CutPrefix(value, "="); ok && operator != "=" {
		operator, value = operator+"=", rest
	}
	switch {
	case durationFields()[name] != nil:
		t, err = durationTerm(name, operator, value)
		return t, true, err
	case name == "queue":
		t, err = queueTerm(operator, value)
	case textFields()[name] != nil:
		t, err = textTerm(name, operator, value)
	default:
		err = fmt.Errorf("no field %q (%s)", name, FieldNames)
	}
	return t, false, err
}

func durationTerm(name, operator, value string) (term, error) {
	if operator == "=" {
		return term{}, fmt.Errorf("%s=: write %s>5m or %s<5m", name, name, name)
	}
	limit, err := parseDuration(value)
	if err != nil {
		return term{}, fmt.Errorf("%s%s%s: give a time with its unit, such as 30s, 5m, 2h, 1d", name, operator, value)
	}
	read := durationFields()[name]
	return term{test: func(p FilterSubject) bool {
		d, known := read(p)
		return known && compares(operator, int64(d), int64(limit))
	}}, nil
}

// parseDuration reads what time.ParseDuration does, and whole days.
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

func queueTerm(operator, value string) (term, error) {
	limit, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return term{}, fmt.Errorf("queue%s%s: give a number, such as queue>3", operator, value)
	}
	return term{test: func(p FilterSubject) bool { return compares(operator, int64(len(p.Waiters)+p.WaitersAtLeast), limit) }}, nil
}

func compares(operator string, a, b int64) bool {
	switch operator {
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "<":
		return a < b
	case "<=":
		return a <= b
	default:
		return a == b
	}
}

func textTerm(name, operator, value string) (term, error) {
	switch {
	case operator != "=":
		return term{}, fmt.Errorf("%s%s: write %s=WORD", name, operator, name)
	case value == "":
		return term{}, fmt.Errorf("%s=: give a word", name)
	case name == "kind" && !slices.ContainsFunc(kinds(), func(k inspect.Kind) bool { return strings.HasPrefix(string(k), value) }):
		return term{}, fmt.Errorf("kind=%s: give one of %s", value, strings.Trim(fmt.Sprint(kinds()), "[]"))
	}
	test := textFields()[name]
	return term{test: func(p FilterSubject) bool { return test(p, value) }}, nil
}

func kinds() []inspect.Kind {
	return []inspect.Kind{
		inspect.KindMutex, inspect.KindRW, inspect.KindSemaphore, inspect.KindElection, inspect.KindRedlock, inspect.KindUnknown,
	}
}
