package act

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"lockscope/inspect"
	"lockscope/internal/connect"
)

var (
	// inScript matches the error by which our scripts name the command that failed (lua/prelude.lua).
	inScript = regexp.MustCompile(`refused (\w+): (.*)`)
	// denied matches the refusal of a command by Redis 6 and 7: "User ops has no permissions to run the 'get' command".
	denied = regexp.MustCompile(`no permissions to run the '([^']+)' command`)
	// byServer matches an error that Redis itself answers in place of running a script, or out of one of ours. A proxy's own errors are
	// others: it may have sent the request, and have lost the answer ("ERR Connection reset by peer" of twemproxy, "upstream failure" of Envoy).
	byServer = regexp.MustCompile(`^(NOSCRIPT|READONLY|LOADING|BUSY|OOM|MISCONF|NOAUTH|MOVED|ASK|TRYAGAIN|CLUSTERDOWN|CROSSSLOT|MASTERDOWN|NOREPLICAS|DENIED) |` +
		`^ERR (unknown command|max number of clients)|refused \w+: |user_script`)
	// ofScript matches the end that Redis gives to the error of a script: its digest, and the line.
	ofScript = regexp.MustCompile(` script: [0-9a-f]{40}, on @?user_script:\d+\.?$`)
)

// deniedIn is the refusal in an error: of a command or a key, by the access control of Redis. Empty for another error.
func deniedIn(err error) string {
	if err == nil {
		return ""
	}
	return deniedText(err.Error())
}

func deniedText(text string) string {
	for _, words := range []string{"NOPERM", "can't run this command", "can't access at least one of the keys"} {
		if strings.Contains(text, words) {
			return text
		}
	}
	return ""
}

// explain makes a person's words of what a script of ours answered: which command was refused, and what to grant.
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

// failed is the error of a plain command on a master.
func (r *Redis) failed(i int, command, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("master %s: %w", r.target.Servers[i], refusedBy(command, key, err.Error(), err))
}

// refusedBy names the missing right where the server's error is about one.
func refusedBy(command, key, text string, err error) error {
	if deniedText(text) == "" {
		text = ofScript.ReplaceAllString(text, "")
		switch {
		case strings.Contains(text, "too late"):
			return errTooLate
		case strings.HasPrefix(text, "READONLY"):
			return refused{"it is a replica, which takes no writes (give its master)", err}
		case text != err.Error():
			return refused{strings.ToUpper(command) + ": " + inspect.Escape(text), err}
		}
		return connect.Plain(err)
	}
	if strings.Contains(text, "key") && !strings.Contains(text, "run this command") {
		return refused{"the user may not access " + inspect.Escape(key) + " (grant ~" + inspect.Escape(key) + ")", err}
	}
	if m := denied.FindStringSubmatch(text); m != nil {
		command = m[1]
	}
	return refused{fmt.Sprintf("the user may not run %s (grant +%s)", strings.ToUpper(command), command), err}
}

var errTooLate = errors.New("it came too late to the master, and was not done")

// refused is a refusal in words that say what to grant or do; the server's own are wrapped.
type refused struct {
	text string
	err  error
}

func (m refused) Error() string { return m.text }
func (m refused) Unwrap() error { return m.err }

// Is makes it an ErrRefused.
func (m refused) Is(target error) bool { return target == ErrRefused }
