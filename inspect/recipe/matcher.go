package recipe

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/lockscope/lockscope/internal/each"
)

// matcher is a regular expression that must match a whole text. Its literal parts reject most
// texts quickly.
type matcher struct {
	re     *regexp.Regexp
	groups []string // named ones, by their index; nil if there are none
	parts  []string // the literal parts, with anything in between
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
	m := &matcher{re: re, parts: literals(parsed)}
	for i, group := range re.SubexpNames() {
		if group == "" {
			continue
		}
		if !slices.Contains(CustomGroups(), group) {
			return nil, fmt.Errorf("unknown group %q (choose from: %s)", group, strings.Join(CustomGroups(), ", "))
		}
		if m.groups == nil {
			m.groups = make([]string, re.NumSubexp()+1)
		}
		m.groups[i] = group
	}
	return m, nil
}

func (m *matcher) matches(s string) bool { return m.may(s) && m.does(s) }

// may reports whether the literal parts allow a match. A nil matcher matches everything.
func (m *matcher) may(s string) bool {
	if m == nil {
		return true
	}
	last := len(m.parts) - 1
	if !strings.HasPrefix(s, m.parts[0]) || !strings.HasSuffix(s, m.parts[last]) {
		return false
	}
	for i := 1; i < last; i++ {
		if !strings.Contains(s, m.parts[i]) {
			return false
		}
	}
	return true
}

// does reports whether a text matches that passed may.
func (m *matcher) does(s string) bool { return m == nil || m.re.MatchString(s) }

// read sets the parts that the groups match in a matching text; false if one is invalid.
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

// glob returns a SCAN pattern of the literal parts, with stars in between.
func (m *matcher) glob() string {
	return strings.Join(each.Of(m.parts, globEscape.Replace), "*")
}

// globEscape escapes the special characters of a SCAN pattern.
var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// literals returns the literal parts of an expression.
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
				more = more[1:] // two adjacent gaps are one
			}
			all[len(all)-1] += more[0]
			all = append(all, more[1:]...)
		}
		return all
	}
	return []string{"", ""}
}
