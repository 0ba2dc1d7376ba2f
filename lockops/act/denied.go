package act

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// inScript matches our scripts' error about a failed command (lua/prelude.lua).
var inScript = regexp.MustCompile(`refused (\w+): (.*)`)

// explain turns an error of our scripts into plain words: the refused command, and the right to
// grant.
func (r *Redis) explain(script, key string, err error) error {
	if err == nil {
		return nil
	}
	command, text := "evalsha", err.Error()
	if m := inScript.FindStringSubmatch(text); m != nil {
		command, text = strings.ToLower(m[1]), m[2]
	}
	return refusedBy(command, key, text, err)
}

// failed returns the error of a plain command on a master.
func (r *Redis) failed(i int, command, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("master %s: %w", r.target.Servers[i], refusedBy(command, key, err.Error(), err))
}

// refusedBy names the missing right if the server's error is about one.
func refusedBy(command, key, text string, err error) error {
	if !redisreply.DeniesAccess(text) {
		text = redisreply.WithoutScript(text)
		switch {
		case strings.Contains(text, "too late"):
			return errTooLate
		case strings.HasPrefix(text, "READONLY"):
			return refused{"it is a replica, which accepts no writes (use its master)", err}
		case text != err.Error():
			return refused{strings.ToUpper(command) + ": " + inspect.Escape(text), err}
		}
		return connect.Plain(err)
	}
	if strings.Contains(text, "key") && !strings.Contains(text, "run this command") {
		return refused{"the user may not access " + inspect.Escape(key) + " (grant ~" + inspect.Escape(key) + ")", err}
	}
	command = cmp.Or(redisreply.DeniedCommand(text), command)
	return refused{fmt.Sprintf("the user may not run %s (grant +%s)", strings.ToUpper(command), command), err}
}

var errTooLate = errors.New("it reached the master too late, and was not executed")

// refused is a refusal with advice on what to grant or do. It wraps the server's own error.
type refused struct {
	text string
	err  error
}

func (m refused) Error() string { return m.text }
func (m refused) Unwrap() error { return m.err }

// Is makes it an ErrRefused.
func (m refused) Is(target error) bool { return target == ErrRefused }
