package redisreply

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// reply is an error reply of a server.
type reply string

func (r reply) Error() string { return string(r) }
func (r reply) RedisError()   {}

func TestServerRepliesAreClassified(t *testing.T) {
	for text, want := range map[string]struct {
		redis bool // not a proxy's
		ours  bool // concerns only this client
	}{
		"NOSCRIPT No matching script. Please use EVAL.":     {redis: true},
		"LOADING Redis is loading the dataset in memory":    {redis: true},
		"ERR max number of clients reached":                 {redis: true, ours: true},
		"WRONGTYPE Operation against a key":                 {redis: true},
		"ERR Error running script: @user_script:3: too bad": {redis: true},
		"ERR Error running script (call to f): -READONLY x": {redis: true},
		"ERR Connection reset by peer":                      {},
		"upstream failure":                                  {},
		"BUSYKEY Target key name already exists.":           {},
		"NOAUTH Authentication required.":                   {redis: true, ours: true},
		"WRONGPASS invalid username-password pair":          {redis: true, ours: true},
		"NOPERM this user has no permissions":               {redis: true, ours: true},
		"DENIED Redis is running in protected mode":         {redis: true, ours: true},
		"MISCONF Redis is configured to save":               {redis: true},
	} {
		err := fmt.Errorf("master a: %w", reply(text))
		must.Equal(t, OfRedis(err), want.redis, text)
		must.Equal(t, Ours(err), want.ours, text)
	}
	if err := errors.New("NOSCRIPT in the name of a lock"); OfRedis(err) || Is(err) || Transient(err) {
		t.Error("an error of our own is taken for a server's reply")
	}
}

func TestADeniedCommandIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"NOPERM this user has no permissions to run the 'get' command or its subcommand": "get",
		"NOPERM User ops has no permissions to run the 'CLIENT|LIST' command":            "client|list",
		"NOPERM User ops has no permissions to access one of the keys":                   "",
	} {
		if got := DeniedCommand(text); got != want || !DeniesAccess(text) {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestAScriptsDigestIsLeftOut(t *testing.T) {
	const digest = "0123456789abcdef0123456789abcdef01234567"
	for text, want := range map[string]string{
		"READONLY You can't write. script: " + digest + ", on @user_script:12.": "READONLY You can't write.",
		"OOM not allowed, script: " + digest + ", on user_script:1":             "OOM not allowed",
		"no script: here": "no script: here",
	} {
		must.Equal(t, WithoutScript(text), want, text)
	}
}
