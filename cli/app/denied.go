package app

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// denied is an error about credentials or rights that names the user and the fix.
type denied struct {
	text string
	err  error
}

func (d denied) Error() string { return d.text }
func (d denied) Unwrap() error { return d.err }

// Explain adds the user and the fix to an error about credentials or missing rights.
func (s Setup) Explain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	zooKeeper := errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrAuthFailed)
	concerned := s.concerned(text, zooKeeper)
	user, do := "", ""
	if len(concerned) > 0 {
		user = concerned[0].Secrets.Login.Username
	}
	switch {
	case strings.Contains(text, "LOCKSCOPE_REDIS_SENTINEL_"):
		return err // a sentinel has its own users, and its error has the advice
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"):
		user, do = cmp.Or(user, "default"),
			"set LOCKSCOPE_REDIS_USERNAME and LOCKSCOPE_REDIS_PASSWORD, or the profile's"
	case redisreply.DeniesAccess(text):
		user = cmp.Or(user, "default")
		text = strings.ReplaceAll(text, "ACL SETUSER … ", "ACL SETUSER "+user+" ")
		if !strings.Contains(text, "ACL SETUSER") && !strings.Contains(text, "grant ") {
			do = "allow it: ACL SETUSER " + user + " " + missingRight(text)
		}
	case zooKeeper:
		user, do = cmp.Or(user, "world:anyone"), "set LOCKSCOPE_ZK_AUTH, or the profile's credentials"
		if !strings.Contains(text, "grant ") && errors.Is(err, zk.ErrNoAuth) {
			do = "grant READ, CREATE and DELETE on it and the directory above, or " + do
		}
	default:
		return err
	}
	code := ExitUnreachable
	if e, ok := errors.AsType[ExitError](err); ok {
		code = e.Code
	}
	text += " (server " + strings.Join(servers(concerned), ",") + ", as user " + user
	if do != "" {
		text += "; " + do
	}
	return ExitError{code, denied{text + ")", err}}
}

// concerned returns the targets whose servers an error names, or all targets of the service if it
// names none.
func (s Setup) concerned(text string, zooKeeper bool) []connect.Target {
	of := slices.DeleteFunc(slices.Clone(s.Targets),
		func(t connect.Target) bool { return (t.Service == connect.ZooKeeper) != zooKeeper })
	named := slices.DeleteFunc(slices.Clone(of), func(t connect.Target) bool {
		return !slices.ContainsFunc(t.Servers, func(addr string) bool { return strings.Contains(text, addr) })
	})
	if len(named) == 0 {
		return of
	}
	return named
}

// servers are the addresses of targets.
func servers(targets []connect.Target) []string {
	var all []string
	for _, t := range targets {
		all = append(all, t.Servers...)
	}
	return all
}

// missingRight returns the right that a refusal names, as ACL SETUSER takes it in a shell.
func missingRight(text string) string {
	if said := redisreply.DeniedCommand(text); said != "" {
		return describe.Quote("+" + said)
	}
	return "'~KEY' (the keys of the lock)"
}
