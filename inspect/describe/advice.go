package describe

import (
	"slices"
	"strings"
)

// Phrase is a part of an advice: words, or a command for a shell.
type Phrase struct {
	Text    string
	Command bool
}

// Phrases finds the commands in a finding's advice, so that each can be shown alone and copied. One ends where its sentence
// does: what has blanks in it is quoted.
func Phrases(advice string) []Phrase {
	var list []Phrase
	add := func(text string, command bool) {
		if text = strings.TrimSpace(text); text != "" {
			list = append(list, Phrase{text, command})
		}
	}
	for advice != "" {
		from := commandAt(advice)
		if from < 0 {
			add(advice, false)
			break
		}
		length := commandLength(advice[from:])
		before, after := advice[:from], advice[from+length:]
		add(strings.TrimSuffix(before, "("), false)
		add(advice[from:from+length], true)
		advice = strings.TrimLeft(after, ").,;: ")
	}
	return list
}

// programs are what a command in an advice begins with.
func programs() []string { return []string{"lockscope ", "zkCli.sh ", "redis-cli "} }

// commandAt is where the first command begins; -1 when there is none. What is quoted is a name from a server, and no command
// whatever it says.
func commandAt(s string) int {
	for i := 0; i < len(s); i++ {
		if i > 0 && s[i-1] != ' ' && s[i-1] != '(' {
			continue
		}
		if s[i] == '\'' {
			i += quotedLength(s[i:]) - 1
			continue
		}
		if slices.ContainsFunc(programs(), func(p string) bool { return strings.HasPrefix(s[i:], p) }) {
			return i
		}
	}
	return -1
}

// quotedLength is how long the quoted word is that a text begins with, an escaped quote in it taken along.
func quotedLength(s string) int {
	const escaped = `'\''`
	for i := 1; i < len(s); i++ {
		if s[i] != '\'' {
			continue
		}
		if !strings.HasPrefix(s[i:], escaped) {
			return i + 1
		}
		i += len(escaped) - 1
	}
	return len(s)
}

// commandLength is how long the command is that a text begins with.
func commandLength(s string) int {
	quoted := false
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\'' && (quoted || i == 0 || s[i-1] != '\\'):
			quoted = !quoted
		case quoted:
		case c == ')' || c == ';':
			return i
		case (c == '.' || c == ',' || c == ':') && (i+1 == len(s) || s[i+1] == ' '):
			return i
		}
	}
	return len(s)
}
