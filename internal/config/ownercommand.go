package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// OwnerCommand is a template of a command that looks at the process behind a contender, such as
// "ssh {host} jstack {pid}". It is shown, never run.
type OwnerCommand string

// OwnerFields returns the names that an OwnerCommand may use in braces: fields of the owner, and the lock's and the
// contender's names.
func OwnerFields() []string {
	return []string{"host", "pid", "thread", "session", "client", "server", "label", "library_id", "lock", "name"}
}

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

func (c OwnerCommand) check() error {
	for _, p := range placeholder.FindAllString(string(c), -1) {
		if !slices.Contains(OwnerFields(), strings.Trim(p, "{}")) {
			return fmt.Errorf("owner_command: unknown field %s (use one of {%s})", p, strings.Join(OwnerFields(), "}, {"))
		}
	}
	if strings.ContainsFunc(string(c), unicode.IsControl) {
		return fmt.Errorf("owner_command %q has a control character or a second line", string(c))
	}
	return nil
}

// Fill puts the fields' values into the template. It returns false if a field is unknown, or contains
// anything that a shell, here or behind ssh, might act on. Values come from servers, and people copy
// the command.
func (c OwnerCommand) Fill(fields map[string]string) (string, bool) {
	if c == "" {
		return "", false
	}
	whole := true
	text := placeholder.ReplaceAllStringFunc(string(c), func(p string) string {
		value := fields[strings.Trim(p, "{}")]
		whole = whole && isWord(value)
		return value
	})
	return text, whole
}

// isWord reports whether a value is one plain word in any shell, and not an option. Quoting would not help: ssh
// passes the command to a second shell, after the first has removed the quotes.
func isWord(value string) bool {
	return value != "" && value[0] != '-' && !strings.ContainsFunc(value, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._:@%+/-", r)
	})
}
