package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"lockscope/inspect/describe"
	"lockscope/internal/connect"
	"lockscope/internal/redisreply"
	"lockscope/lockops"
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
		return err // of a sentinel, which has users of its own: its error has the advice
	case strings.Contains(text, "NOAUTH"), strings.Contains(text, "WRONGPASS"):
		user, do = cmp.Or(user, "default"), "set LOCKSCOPE_REDIS_USERNAME and LOCKSCOPE_REDIS_PASSWORD, or the profile's"
	case redisreply.DeniesAccess(text):
		user = cmp.Or(user, "default")
		text = strings.ReplaceAll(text, "ACL SETUSER … ", "ACL SETUSER "+user+" ")
		if !strings.Contains(text, "ACL SETUSER") && !strings.Contains(text, "grant ") {
			do = "allow it: ACL SETUSER " + user + " " + missingRight(text)
		}
	case zooKeeper:
		user, do = cmp.Or(user, "nobody"), "set LOCKSCOPE_ZK_AUTH, or the profile's credentials"
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
	text += " (server " + strings.Join(servers(concerned), ",") + ", as user " + user
	if do != "" {
		text += "; " + do
	}
	return exitError{code, denied{text + ")", err}}
}

// notTaken is the exit code for a lock that could not be taken: 1 where a server has refused it to this
// account, else 3. A login that fails is no such answer.
func notTaken(err error) int {
	var refused *lockops.DeniedError
	if errors.Is(err, zk.ErrNoAuth) || errors.As(err, &refused) || redis.HasErrorPrefix(err, "NOPERM") {
		return exitNo // by what the server replied: a text may have NOPERM in the name of a lock
	}
	return exitUnreachable
}

// concerned are the targets with a server that an error names; all of its service, where it names none.
func (s setup) concerned(text string, zooKeeper bool) []connect.Target {
	of := slices.DeleteFunc(slices.Clone(s.targets), func(t connect.Target) bool { return (t.Service == connect.ZooKeeper) != zooKeeper })
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
