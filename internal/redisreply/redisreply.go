// Package redisreply classifies the error replies of Redis servers. A server's name may precede the
// text.
package redisreply

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Is reports whether a server answered, if only with an error.
func Is(err error) bool {
	_, ok := errors.AsType[redis.Error](err)
	return ok
}

// Starts reports whether a reply starts with one of these words.
func Starts(err error, words ...string) bool {
	reply, ok := errors.AsType[redis.Error](err)
	return ok && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(reply.Error(), w) })
}

// Denied reports whether our user lacks a right.
func Denied(err error) bool { return Starts(err, "NOPERM") }

// WrongType reports whether the key holds another type.
func WrongType(err error) bool { return Starts(err, "WRONGTYPE") }

// Login reports whether a server demands another login.
func Login(err error) bool { return Starts(err, "NOAUTH", "WRONGPASS") }

// Ours reports whether a refusal may affect only us: our login or rights, protected mode, or the
// limit on clients. The server may still serve other clients.
func Ours(err error) bool {
	return Login(err) || Denied(err) || Starts(err, "DENIED", "ERR max number of clients")
}

// UnknownCommand reports whether a command was renamed or removed (rename-command), or the server
// is not Redis or too old.
func UnknownCommand(err error) bool { return Starts(err, "ERR unknown command") }

// transient matches temporary refusals: the request was not executed, but will be later (redis.io,
// "Errors" of the protocol; Cluster specification).
var transient = regexp.MustCompile(`^(LOADING|READONLY|BUSY|TRYAGAIN|CLUSTERDOWN|MASTERDOWN)( |$)`)

// Transient reports whether a reply is about a temporary state of the server, so that it is worth
// asking again.
func Transient(err error) bool {
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return false
	}
	text := reply.Error()
	if i := strings.Index(text, ": -"); i >= 0 { // of a command in a script, before Redis 7
		text = text[i+3:]
	}
	return transient.MatchString(text)
}

// ofRedis matches the errors with which Redis itself refuses a request or a command of a script. A
// proxy's own errors do not match, since it may have sent the request and lost the answer. Examples
// are twemproxy's "ERR Connection reset by peer" and Envoy's "upstream failure".
var ofRedis = regexp.MustCompile(`^(NOSCRIPT|OOM|MISCONF|NOAUTH|WRONGPASS|NOPERM|DENIED|WRONGTYPE|MOVED|ASK|CROSSSLOT|NOREPLICAS) |` +
	`^ERR (unknown command|max number of clients)|user_script`)

// OfRedis reports whether Redis itself replied, as far as the reply shows.
func OfRedis(err error) bool {
	reply, ok := errors.AsType[redis.Error](err)
	return ok && (Transient(err) || ofRedis.MatchString(reply.Error()))
}

// deniedCommand matches the refusal of a command: "User ops has no permissions to run the 'client|list' command".
var deniedCommand = regexp.MustCompile(`to run the '([a-zA-Z0-9|._-]{1,40})'`)

// DeniedCommand returns the command that the text of a refusal names, in lower case, such as client|list;
// empty if it names none.
func DeniedCommand(text string) string {
	if said := deniedCommand.FindStringSubmatch(text); said != nil {
		return strings.ToLower(said[1])
	}
	return ""
}

// InScript begins Redis's refusal of a command, a key or a channel to a script's user.
const InScript = "The user executing the script can't "

// DeniesAccess reports whether the text of an error contains a refusal by Redis's access control.
func DeniesAccess(text string) bool {
	return strings.Contains(text, "NOPERM") || strings.Contains(text, InScript)
}

// ofScript matches what Redis adds to the error of a script: its digest, and the line.
var ofScript = regexp.MustCompile(`,? script: [0-9a-f]{40}, on @?user_script:\d+\.?`)

// WithoutScript returns the text of an error without the digest and the line of a script.
func WithoutScript(text string) string { return ofScript.ReplaceAllString(text, "") }
