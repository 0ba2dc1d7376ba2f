package lockops

import (
	"cmp"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/redisreply"
)

//go:embed lua/acquire.lua
var acquireLua string

//go:embed lua/release.lua
var releaseLua string

//go:embed lua/wake.lua
var wakeLua string

//go:embed lua/turn.lua
var turnLua string

//go:embed lua/vote_release.lua
var voteReleaseLua string

//go:embed lua/extend.lua
var extendLua string

//go:embed lua/fair.lua
var fairLua string

//go:embed lua/fair_acquire.lua
var fairAcquireLua string

//go:embed lua/fair_release.lua
var fairReleaseLua string

//go:embed lua/clock.lua
var clockLua string

// script is a Lua script and the digest that servers know it by.
type script struct {
	source string
	sha    string
	// answers are all possible replies of a script that compare runs.
	answers []string
}

func newScript(source string, answers ...string) *script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // what EVALSHA takes
	return &script{source, hex.EncodeToString(sum[:]), answers}
}

var (
	acquireScript     = newScript(acquireLua)
	releaseScript     = newScript(wakeLua+releaseLua, "1", "0", "-1")
	voteReleaseScript = newScript(voteReleaseLua, "1", "2", "0", "-1")
	turnScript        = newScript(wakeLua+turnLua, "1", "0")
	extendScript      = newScript(extendLua, "1", "0", "-1")
	fairAcquireScript = newScript(fairLua + fairAcquireLua)
	fairReleaseScript = newScript(fairLua+fairReleaseLua, "1", "0", "-1")
	clockScript       = newScript(clockLua)
)

// answered reports whether the server has replied, even with an error.
func answered(err error) bool { return err == nil || redisreply.Is(err) }

// isServerReply reports whether the server itself has replied, as far as the reply shows.
func isServerReply(err error) bool { return err == nil || redisreply.OfRedis(err) }

// transient reports whether the request is worth repeating.
func transient(err error) bool { return redisreply.Transient(err) }

// refused reports whether a server answered with an error that it would give again.
func refused(err error) bool { return err != nil && answered(err) && !transient(err) }

// foreignReply returns the error for a reply that the script never gives. Another program has
// answered, and the outcome of the request is as unknown as without an answer.
func foreignReply(reply string) error {
	return fmt.Errorf("it answered %.40q, which this program's script never returns (is there a proxy, "+
		"or another script in its place?): "+
		"the outcome of the request is unknown", reply)
}

// DeniedError is the reply of a server whose user lacks a right that the lock needs.
type DeniedError struct {
	Command string // the command that was denied
	Right   string // missing one, as ACL SETUSER takes it; empty if the reply does not name it
	Err     error  // the server's reply
}

func (e *DeniedError) Error() string {
	switch {
	case e.Right == "":
		return e.Err.Error()
	case !strings.HasPrefix(e.Right, "+"):
		return fmt.Sprintf("the user may not use keys or channels of the lock (ACL SETUSER … %s): %s", e.Right, e.Err)
	}
	return fmt.Sprintf("the user may not run %s (ACL SETUSER … %s): %s", strings.ToUpper(e.Command), e.Right, e.Err)
}

// Unwrap returns the server's reply.
func (e *DeniedError) Unwrap() error { return e.Err }

var (
	scriptLine    = regexp.MustCompile(`user_script:(\d+)`)
	scriptCommand = regexp.MustCompile(`redis\.p?call\('(\w+)', ([A-Za-z]+(?:\[\d\])?)?`)
)

// explain turns a denial into a DeniedError. For a script, servers report only the line, so the
// command is looked up here.
func explain(err error, sc *script, keys []string) error {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	text := reply.Error()
	command, key, onKey := "evalsha", "", strings.Contains(text, "access")
	switch {
	case strings.HasPrefix(text, "NOPERM"):
		command = cmp.Or(redisreply.DeniedCommand(text), command)
	case sc != nil && strings.Contains(text, redisreply.InScript):
		command, key = sc.commandAt(text, keys)
		if command == "" {
			return err
		}
	default:
		return err
	}
	d := &DeniedError{Command: command, Err: err, Right: "+" + strings.ReplaceAll(command, " ", "|")}
	if onKey {
		d.Right = "~" + key
		if key == "" {
			d.Right = "~" + strings.Join(keys, " ~")
		}
	}
	return d
}

// commandAt returns the command, and its key, in the script line that a reply names.
func (sc *script) commandAt(text string, keys []string) (command, key string) {
	m := scriptLine.FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	n, err := strconv.Atoi(m[1])
	lines := strings.Split(sc.source, "\n")
	if err != nil || n < 1 || n > len(lines) {
		return "", ""
	}
	call := scriptCommand.FindStringSubmatch(lines[n-1])
	if call == nil {
		return "", ""
	}
	for i := range keys {
		if call[2] == fmt.Sprintf("KEYS[%d]", i+1) {
			key = keys[i]
		}
	}
	return strings.ToLower(call[1]), key
}
