package cli

import (
	"errors"
	"regexp"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockscope/inspect/describe"
)

// denied is an error about credentials or rights, with whose they are and what to do.
type denied struct {
	text string
	err  error
}

func (d denied) Error() string { return d.text }
func (d denied) Unwrap() error { return d.err }

// explain adds to an error about missing or wrong credentials, or missing rights, whose they are and what to do.
func (s setup) explain(err error) error {
	text := err.Error()
	user, do := s.secrets.RedisUsername, ""
	if user == "" {
		user = "default"
	}
	switch {
	case strings.Contains(text, "LOCKSCOPE_REDIS_SENTINEL_"):
		return err // of a sentinel, which has users of its own: it says what to do
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"):
		do = "set LOCKSCOPE_REDIS_USERNAME and LOCKSCOPE_REDIS_PASSWORD"
	case strings.Contains(text, "NOPERM"), strings.Contains(text, "executing the script can't"):
		text = strings.ReplaceAll(text, "ACL SETUSER … ", "ACL SETUSER "+user+" ")
		if !strings.Contains(text, "ACL SETUSER") && !strings.Contains(text, "grant ") {
			do = "allow it: ACL SETUSER " + user + " " + missingRight(text)
		}
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrAuthFailed):
		if user, _, _ = digestParts(s.secrets); user == "" {
			user = "nobody"
		}
		do = "set LOCKSCOPE_ZK_AUTH"
		if !strings.Contains(text, "grant ") && errors.Is(err, zk.ErrNoAuth) {
			do = "grant READ, CREATE and DELETE on it and the directory above, or " + do
		}
	default:
		return err
	}
	code := exitUnreachable
	var e exitError
	if errors.As(err, &e) {
		code = e.code
	}
	text += " (server " + strings.Join(s.servers(), ",") + ", as user " + user
	if do != "" {
		text += "; " + do
	}
	return exitError{code, denied{text + ")", err}}
}

// servers are the addresses of all targets.
func (s setup) servers() []string {
	var all []string
	for _, t := range s.targets {
		all = append(all, t.Servers...)
	}
	return all
}

var deniedCommand = regexp.MustCompile(`to run the '([a-zA-Z|]+)' command`)

// missingRight returns the right that a refusal names, as ACL SETUSER takes it in a shell.
func missingRight(text string) string {
	if said := deniedCommand.FindStringSubmatch(text); said != nil {
		return describe.Quote("+" + strings.ToLower(said[1]))
	}
	return "'~KEY' (the keys of the lock)"
}
