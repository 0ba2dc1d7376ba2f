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

// Phrases finds the commands in a finding's advice, so that each can be shown alone and copied. One ends where its
// sentence does: arguments with blanks are quoted.
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

// programs begin a command in an advice.
func programs() []string { return []string{"lockscope ", "zkCli.sh ", "redis-cli "} }

// commandAt returns the index of the first command; -1 when there is none. What is quoted is a name from a server, and no
// command whatever it reads like.
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

// quotedLength returns the length of the quoted word at the beginning of a text, an escaped quote in it included.
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

// commandLength returns the length of the command at the beginning of a text.
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
