package recipe

import (
	"regexp/syntax"
	"strings"
)

// KeyPattern is a SCAN pattern of all keys that the recipe owns, and of others: only the words of its pattern
// are in it.
func (c Custom) KeyPattern() string {
	parsed, err := syntax.Parse(c.keys, syntax.Perl)
	if err != nil {
		return "*"
	}
	return globOf(parsed)
}

// globEscape takes the meaning from what has one in a SCAN pattern.
var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// globOf has the words of a regular expression, and a star for everything else.
func globOf(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase != 0 {
			return "*"
		}
		return globEscape.Replace(string(re.Rune))
	case syntax.OpConcat:
		var b strings.Builder
		last := ""
		for _, sub := range re.Sub {
			if part := globOf(sub); part != "*" || last != "*" {
				b.WriteString(part)
				last = part
			}
		}
		return b.String()
	case syntax.OpCapture:
		return globOf(re.Sub[0])
	case syntax.OpEmptyMatch, syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine:
		return ""
	default:
		return "*"
	}
}
