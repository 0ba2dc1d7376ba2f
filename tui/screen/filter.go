package screen

import (
	"errors"
	"fmt"
	"regexp"
	regexpsyntax "regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
)

// Filter selects the items of a list that match all terms of one of its alternatives, which are
// separated by "or" or |. A term is a word in an item's texts, or ~ and a regular expression that
// matches one. On locks it can also be a field such as held, held>5m, lib=curator or
// holder~^worker. A ! before a term negates it. The zero filter matches everything.
type Filter struct {
	alternatives [][]term
	// problems describe invalid terms. They match everything, so that a typing error hides nothing.
	problems []string
	// Timed means that the matches change with time alone.
	Timed bool
}

// term is one condition: on an item's texts or, on locks, a test.
type term struct {
	negated bool
	in      func(text string) bool
	test    func(FilterSubject) bool
}

// FilterSubject is a lock to match, with the context for its ages.
type FilterSubject struct {
	*inspect.Lock
	Snapshot *inspect.Snapshot
	Now      time.Time
}

// NewWords makes a filter of words and regular expressions only, for lists of items other than
// locks.
func NewWords(text string) Filter {
	return newFilter(text, func(typed string) (t term, timed bool, err error) {
		if host, ok := strings.CutPrefix(typed, "host="); ok && host != "" { // as in Locks
			t, err = textCondition(host)
			return t, false, err
		}
		return t, false, errNoField
	})
}

// NewFilter makes a filter of words, regular expressions and fields, for locks.
func NewFilter(text string) Filter { return newFilter(text, parseField) }

var errNoField = errors.New("no field")

func newFilter(text string, field func(string) (term, bool, error)) Filter {
	var f Filter
	var terms []term
	next := func() {
		if len(terms) > 0 {
			f.alternatives = append(f.alternatives, terms)
		}
		terms = nil
	}
	for _, typed := range strings.Fields(text) {
		if typed == "|" || strings.EqualFold(typed, "or") {
			next()
			continue
		}
		typed, negated := strings.CutPrefix(typed, "!")
		if typed == "" {
			continue
		}
		t, timed, err := field(typed)
		if errors.Is(err, errNoField) {
			t, err = textCondition(typed)
		}
		if err != nil {
			f.problems = append(f.problems, describe.OneLine(err))
			continue
		}
		t.negated = negated
		terms = append(terms, t)
		f.Timed = f.Timed || timed
	}
	next()
	return f
}

// textCondition is a term about any text: a word in it or, after ~, a regular expression.
func textCondition(typed string) (term, error) {
	text, ok := strings.CutPrefix(typed, "~")
	if !ok {
		return term{in: contains(typed)}, nil
	}
	in, err := pattern(text)
	return term{in: in}, err
}

func contains(word string) func(string) bool {
	word = strings.ToLower(word)
	return func(text string) bool { return strings.Contains(strings.ToLower(text), word) }
}

// pattern matches a regular expression, ignoring case.
func pattern(text string) (func(string) bool, error) {
	if text == "" {
		return nil, errors.New("~: use a regular expression, such as ~^orders-[0-9]+")
	}
	e, err := regexp.Compile("(?i)" + text)
	if err != nil {
		var syntax *regexpsyntax.Error
		if errors.As(err, &syntax) {
			return nil, fmt.Errorf("~%s: %s", text, syntax.Code)
		}
		return nil, fmt.Errorf("~%s: %w", text, err)
	}
	return e.MatchString, nil
}

// Problem lists the filter's syntax errors; empty without any.
func (f Filter) Problem() string { return strings.Join(f.problems, "; ") }

// Refused is the filter with one more error.
func (f Filter) Refused(problem string) Filter {
	f.problems = append(slices.Clip(f.problems), problem)
	return f
}

// Empty reports whether everything matches.
func (f Filter) Empty() bool { return len(f.alternatives) == 0 }

// MatchText reports whether an item's texts match.
func (f Filter) MatchText(parts ...string) bool {
	return f.some(func(t term) bool { return t.in == nil || slices.ContainsFunc(parts, t.in) != t.negated })
}

// Match reports whether a lock matches.
func (f Filter) Match(p FilterSubject) bool {
	return f.some(func(t term) bool {
		if t.test != nil {
			return t.test(p) != t.negated
		}
		return p.says(t.in) != t.negated
	})
}

func (f Filter) some(holds func(term) bool) bool {
	return f.Empty() || slices.ContainsFunc(f.alternatives, func(terms []term) bool {
		return !slices.ContainsFunc(terms, func(t term) bool { return !holds(t) })
	})
}

// says reports whether one of a lock's texts matches.
func (p FilterSubject) says(wanted func(string) bool) bool {
	if wanted(p.ID.String()) || wanted(string(p.Kind)) || wanted(p.Recipe) || wanted(string(p.State)) {
		return true
	}
	return p.anyContender(func(c *inspect.Contender) bool {
		o := &c.Owner
		return wanted(o.Label.String()) || wanted(describe.Printable(o.Client)) || wanted(o.Host.String()) ||
			o.Label == "" && wanted(c.Name.String()) || // without a label the name is usually random
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

// flagTests are the fields without a value.
func flagTests() map[string]func(FilterSubject) bool {
	waiting := func(p FilterSubject) bool { return p.Waiting() > 0 }
	tests := map[string]func(FilterSubject) bool{
		"held":      func(p FilterSubject) bool { return len(p.Holders) > 0 },
		"waiting":   waiting,
		"contended": waiting,
		"finding":   func(p FilterSubject) bool { return len(p.Findings) > 0 },
		"muted":     func(p FilterSubject) bool { return slices.ContainsFunc(p.Findings, isMuted) },
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

func isMuted(f inspect.Finding) bool { return f.Muted != nil }

// durationFields are the fields compared with a duration as drawn, even if it is only a bound. An
// unknown duration (false) matches nothing. Each is named like its column; age is an alias of held.
func durationFields() map[string]func(FilterSubject) (time.Duration, bool) {
	held := func(p FilterSubject) (time.Duration, bool) {
		return HeldFor(describe.View{Snapshot: p.Snapshot, Now: p.Now}, p.Lock)
	}
	return map[string]func(FilterSubject) (time.Duration, bool){
		"held": held,
		"age":  held,
		"wait": func(p FilterSubject) (time.Duration, bool) {
			longest, ok := describe.View{Snapshot: p.Snapshot, Now: p.Now}.LongestWait(p.Lock)
			return longest.Duration, ok
		},
		"ttl": func(p FilterSubject) (time.Duration, bool) {
			at := Expiry(p.Lock)
			return max(0, at.Sub(p.Now)), !at.IsZero()
		},
	}
}

// textField is a field compared with a word or a regular expression.
type textField struct {
	// texts calls f with each of a lock's texts of the field, until one matches.
	texts func(p FilterSubject, f func(string) bool) bool
	// is compares a text with a word in lower case. Nil means that the text must contain it.
	is func(text, word string) bool
}

// textFields are named like their columns; lib, rule and host are aliases of library, finding and
// client.
func textFields() map[string]textField {
	library := textField{texts: func(p FilterSubject, f func(string) bool) bool {
		return f(p.Recipe) || p.anyContender(func(c *inspect.Contender) bool { return c.Recipe != "" && f(c.Recipe) })
	}}
	finding := textField{texts: func(p FilterSubject, f func(string) bool) bool {
		return slices.ContainsFunc(p.Findings, func(i inspect.Finding) bool { return f(i.Rule) })
	}}
	client := textField{texts: func(p FilterSubject, f func(string) bool) bool {
		return p.anyContender(func(c *inspect.Contender) bool {
			if n, ok := p.Snapshot.HostName(&c.Owner); ok && f(n.String()) {
				return true
			}
			return f(c.Owner.Client) || f(c.Owner.Host.String()) || f(describe.Owner(c))
		})
	}, is: startsWith}
	return map[string]textField{
		"client":  client,
		"host":    client,
		"lock":    {texts: func(p FilterSubject, f func(string) bool) bool { return f(inspect.Escape(p.ID.Path)) }},
		"lib":     library,
		"library": library,
		"rule":    finding,
		"finding": finding,
		"kind": {texts: func(p FilterSubject,
			f func(string) bool,
		) bool {
			return f(string(p.Kind))
		}, is: strings.HasPrefix},
		"backend": {
			texts: func(p FilterSubject, f func(string) bool) bool { return f(p.ID.Backend) }, is: strings.HasPrefix,
		},
		"holder": {texts: func(p FilterSubject, f func(string) bool) bool {
			return slices.ContainsFunc(p.Holders, func(c inspect.Contender) bool {
				return f(describe.Owner(&c)) || f(c.Name.String())
			})
		}},
		"session": {texts: func(p FilterSubject, f func(string) bool) bool {
			return p.anyContender(func(c *inspect.Contender) bool {
				return c.Owner.Session != 0 && f(inspect.SessionID(c.Owner.Session))
			})
		}, is: strings.HasPrefix},
		"token": {texts: func(p FilterSubject, f func(string) bool) bool {
			return len(p.Masters) > 0 &&
				p.anyContender(func(c *inspect.Contender) bool {
					return c.Digest == "" &&
						f(c.Name.String())
				}) // a long one was cut at the end
		}, is: strings.HasSuffix},
		"label": {texts: func(p FilterSubject, f func(string) bool) bool {
			return p.anyContender(func(c *inspect.Contender) bool { return f(c.Owner.Label.String()) })
		}},
	}
}

// startsWith reports whether an address starts with part. A number is not split: 10.2.0.4 does not
// start 10.2.0.41.
func startsWith(addr, part string) bool {
	rest, ok := strings.CutPrefix(addr, part)
	return ok && (rest == "" || part == "" || !digit(rest[0]) || !digit(part[len(part)-1]))
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// FieldNames lists the fields for help and errors.
const FieldNames = "lock= holder= host= lib= kind= session= token= label= backend= finding=, " +
	"held>5m wait>1m ttl<2s queue>3, held free waiting critical muted; " +
	"~regex, !not, this or that"

func parseField(typed string) (t term, timed bool, err error) {
	word := strings.ToLower(typed)
	if test := flagTests()[word]; test != nil {
		return term{test: test}, false, nil
	}
	at := strings.IndexAny(word, "<>=~")
	if at <= 0 {
		return term{}, false, errNoField
	}
	name, operator, value := word[:at], word[at:at+1], typed[at+1:]
	if rest, ok := strings.CutPrefix(value, "="); ok && operator != "=" && operator != "~" {
		operator, value = operator+"=", rest
	}
	switch {
	case durationFields()[name] != nil:
		t, err = durationTerm(name, operator, value)
		return t, true, err
	case name == "queue":
		t, err = queueTerm(operator, value)
	case textFields()[name].texts != nil:
		t, err = textTerm(name, operator, value)
	default:
		err = fmt.Errorf("no field %q; choose from: %s", name, FieldNames)
	}
	return t, false, err
}

// endsInField reports whether a text ends in a field's name, which is still being typed.
func endsInField(text string) bool {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return true
	}
	last := strings.TrimPrefix(words[len(words)-1], "!")
	return durationFields()[last] != nil || textFields()[last].texts != nil || last == "queue"
}

func durationTerm(name, operator, value string) (term, error) {
	if operator == "=" || operator == "~" {
		return term{}, fmt.Errorf("%s%s: write %s>5m or %s<5m", name, operator, name, name)
	}
	limit, err := parseDuration(value)
	if err != nil {
		return term{}, fmt.Errorf("%s%s%s: use a time with its unit, such as 30s, 5m, 2h, 1d", name, operator, value)
	}
	read := durationFields()[name]
	return term{test: func(p FilterSubject) bool {
		d, known := read(p)
		return known && compares(operator, int64(d), int64(limit))
	}}, nil
}

// parseDuration reads whole days, too.
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
		return term{}, fmt.Errorf("queue%s%s: use a number, such as queue>3", operator, value)
	}
	return term{test: func(p FilterSubject) bool { return compares(operator, int64(p.Waiting()), limit) }}, nil
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
	field := textFields()[name]
	if operator == "~" {
		in, err := pattern(value)
		return term{test: func(p FilterSubject) bool { return field.texts(p, in) }}, err
	}
	word := strings.ToLower(value)
	switch {
	case operator != "=":
		return term{}, fmt.Errorf("%s%s: write %s=WORD or %s~REGEX", name, operator, name, name)
	case value == "":
		return term{}, fmt.Errorf("%s=: use a word", name)
	case name == "kind" && !slices.ContainsFunc(kinds(),
		func(k inspect.Kind) bool { return strings.HasPrefix(string(k), word) }):
		return term{}, fmt.Errorf("kind=%s: use one of %s", value, strings.Trim(fmt.Sprint(kinds()), "[]"))
	}
	is := field.is
	if is == nil {
		is = strings.Contains
	}
	wanted := func(text string) bool { return is(strings.ToLower(text), word) }
	return term{test: func(p FilterSubject) bool { return field.texts(p, wanted) }}, nil
}

func kinds() []inspect.Kind {
	return []inspect.Kind{
		inspect.KindMutex, inspect.KindRW, inspect.KindSemaphore, inspect.KindElection, inspect.KindRedlock,
		inspect.KindUnknown,
	}
}
