package inspect

import (
	"bytes"
	"strings"
)

// appendIndented appends JSON without white space as json.Indent does with an indent of one space and this prefix. The text must be
// well-formed, as encoding/json has just written it: to check each byte again took half of the time of ls -o json's output.
func appendIndented(to, text []byte, prefix string) []byte {
	newline, depth, opened := "\n"+prefix, 0, false // opened: the last byte was the beginning of an object or a list
	end := func() { to = append(to, newline[:1+len(prefix)+depth]...) }
	for i := 0; i < len(text); {
		c := text[i]
		if opened && c != '}' && c != ']' {
			if depth++; len(newline) < 1+len(prefix)+depth {
				newline += strings.Repeat(" ", 16)
			}
			end()
		}
		next := i + 1
		switch c {
		case '"':
			next += quoted(text[next:])
			to = append(to, text[i:next]...)
		case ',':
			to = append(to, c)
			end()
		case ':':
			to = append(to, c, ' ')
		case '}', ']':
			if !opened {
				depth--
				end()
			}
			to = append(to, c)
		default:
			to = append(to, c)
		}
		opened, i = c == '{' || c == '[', next
	}
	return to
}

// quoted is the length of a string's rest, with its closing quote.
func quoted(rest []byte) (length int) {
	for {
		n := bytes.IndexByte(rest[length:], '"')
		if n < 0 {
			return len(rest)
		}
		before := rest[:length+n]
		length += n + 1
		if escapes := len(before) - len(bytes.TrimRight(before, `\`)); escapes%2 == 0 {
			return length
		}
	}
}
