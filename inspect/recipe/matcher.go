package recipe

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// matcher is a regular expression that has to match all of a text. Most texts are refused by their length, or by the
// literal parts of the expression, which is faster.
type matcher struct {
	re          *regexp.Regexp
	groups      []string // named ones, by their index; nil: none
	parts       []string // the literal parts, with anything between two of them
	least, most int      // bytes
	decided     bool     // by the fields above: nothing else is in it
}

func newMatcher(text string) (*matcher, error) {
	re, err := regexp.Compile(`\A(?s:` + text + `)\z`)
	if err != nil {
		return nil, err
	}
	parsed, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, err
	}
	m := &matcher{re: re, parts: literals(parsed), decided: anyBetween(parsed)}
	m.least, m.most = measure(parsed)
	for i, group := range re.SubexpNames() {
		if group == "" {
			continue
		}
		if !slices.Contains(CustomGroups(), group) {
			return nil, fmt.Errorf("unknown group %q (there are: %s)", group, strings.Join(CustomGroups(), ", "))
		}
		if m.groups == nil {
			m.groups = make([]string, re.NumSubexp()+1)
		}
		m.groups[i] = group
	}
	return m, nil
}

func (m *matcher) matches(s string) bool { return m.may(s) && m.does(s) }

// may reports whether the lengths and the literal parts allow a match. A nil matcher matches everything.
func (m *matcher) may(s string) bool {
	if m == nil {
		return true
	}
	last := len(m.parts) - 1
	if len(s) < m.least || len(s) > m.most || !strings.HasPrefix(s, m.parts[0]) ||
		!strings.HasSuffix(s, m.parts[last]) {
		return false
	}
	for i := 1; i < last; i++ {
		if !strings.Contains(s, m.parts[i]) {
			return false
		}
	}
	return true
}

// does reports whether a text that may match does.
func (m *matcher) does(s string) bool { return m == nil || m.decided || m.re.MatchString(s) }

// read sets the parts that the groups match in a text that matches; false where one is no such part.
func (m *matcher) read(s string, t *Token) bool {
	if m == nil || m.groups == nil {
		return true
	}
	match := m.re.FindStringSubmatch(s)
	for i, group := range m.groups {
		if group != "" && match[i] != "" && !t.set(group, match[i]) {
			return false
		}
	}
	return true
}

// glob is a SCAN pattern of the literal parts, with a star between two of them.
func (m *matcher) glob() string {
	escaped := make([]string, len(m.parts))
	for i, part := range m.parts {
		escaped[i] = globEscape.Replace(part)
	}
	return strings.Join(escaped, "*")
}

// globEscape escapes the special characters of a SCAN pattern.
var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// literals are the literal parts of an expression, with anything between two of them.
func literals(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture:
		return literals(re.Sub[0])
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return []string{""}
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			more := literals(sub)
			if last := len(all) - 1; all[last] == "" && last > 0 && len(more) > 1 && more[0] == "" {
				more = more[1:] // two gaps are one
			}
			all[len(all)-1] += more[0]
			all = append(all, more[1:]...)
		}
		return all
	}
	return []string{"", ""}
}

// anyBetween reports whether an expression is literal except for at most one part, which is any text.
func anyBetween(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		return re.Flags&syntax.FoldCase == 0
	case syntax.OpCapture:
		return anyBetween(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus:
		return re.Sub[0].Op == syntax.OpAnyChar
	case syntax.OpConcat:
		gaps := 0
		for _, sub := range re.Sub {
			if !anyBetween(sub) {
				return false
			}
			gaps += len(literals(sub)) - 1
		}
		return gaps <= 1
	}
	return false
}

// measure returns the least and the greatest length of a match, in bytes.
func measure(re *syntax.Regexp) (least, most int) {
	const width = 4 // of the widest rune
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return len(re.Rune), width * len(re.Rune)
		}
		return len(string(re.Rune)), len(string(re.Rune))
	case syntax.OpCharClass:
		if last := re.Rune[len(re.Rune)-1]; last < 0x80 {
			return 1, 1
		}
		return 1, width
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, width
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			l, m := measure(sub)
			least, most = least+l, add(most, m)
		}
		return least, most
	case syntax.OpAlternate:
		least, most = measure(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			l, m := measure(sub)
			least, most = min(least, l), max(most, m)
		}
		return least, most
	case syntax.OpCapture:
		return measure(re.Sub[0])
	case syntax.OpQuest:
		_, most = measure(re.Sub[0])
		return 0, most
	case syntax.OpPlus:
		least, _ = measure(re.Sub[0])
		return least, math.MaxInt
	case syntax.OpRepeat:
		l, m := measure(re.Sub[0])
		if re.Max < 0 || m > math.MaxInt/1001 { // a repetition counts to 1000 at most
			return re.Min * l, math.MaxInt
		}
		return re.Min * l, re.Max * m
	case syntax.OpStar:
		return 0, math.MaxInt
	}
	return 0, 0
}

// add adds two lengths, each of which may be the greatest.
func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}
