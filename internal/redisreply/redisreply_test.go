package redisreply

import (
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/internal/must"
)

// reply is an error reply of a server.
type reply string

func (r reply) Error() string { return string(r) }
func (r reply) RedisError()   {}

var _ redis.Error = reply("")

func TestProxyErrorsAreRecognized(t *testing.T) {
	for text, want := range map[string]bool{
		"NOSCRIPT No matching script. Please use EVAL.":     true,
		"LOADING Redis is loading the dataset in memory":    true,
		"ERR max number of clients reached":                 true,
		"WRONGTYPE Operation against a key":                 true,
		"ERR Error running script: @user_script:3: too bad": true,
		"ERR Error running script (call to f): -READONLY x": true,
		"ERR Connection reset by peer":                      false,
		"upstream failure":                                  false,
		"BUSYKEY Target key name already exists.":           false,
	} {
		must.Equal(t, OfRedis(fmt.Errorf("master a: %w", reply(text))), want, text)
	}
	if err := errors.New("NOSCRIPT in the name of a lock"); OfRedis(err) || Is(err) || Transient(err) {
		t.Error("an error of our own is taken for a server's reply")
	}
}

func TestClientSpecificRefusalsAreRecognized(t *testing.T) {
	for text, want := range map[string]bool{
		"NOAUTH Authentication required.":                true,
		"WRONGPASS invalid username-password pair":       true,
		"NOPERM this user has no permissions":            true,
		"DENIED Redis is running in protected mode":      true,
		"ERR max number of clients reached":              true,
		"LOADING Redis is loading the dataset in memory": false,
		"MISCONF Redis is configured to save":            false,
	} {
		must.Equal(t, Ours(fmt.Errorf("master a: %w", reply(text))), want, text)
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
