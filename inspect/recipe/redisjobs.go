package recipe

import (
	"cmp"
	"slices"
	"strings"
)

// bullMQ writes the worker's uuid and a number (src/classes/worker.ts:
// `${this.id}:${tokenPostfix++}`) under prefix:queue:job:lock. The prefix is bull unless the user
// chose another. Its predecessor Bull writes the uuid of the queue's client under
// bull:queue:job:lock. Hand-written locks modelled on Redisson have a uuid and the number of a
// thread under any name.
func bullMQ(key, value string) (Token, bool) {
	if !strings.HasSuffix(key, ":lock") || len(value) < 36 || !isUUID(value[:36]) {
		return Token{}, false
	}
	t := Token{Recipe: "bullmq", Confidence: Possible, LibraryID: value[:36]}
	usual := strings.HasPrefix(key, "bull:")
	if len(value) == 36 {
		return t, usual
	}
	if t.Confidence = Likely; usual && isRandomUUID(value[:36]) {
		t.Confidence = Certain
	}
	return t, strings.Count(key, ":") >= 3 && value[36] == ':' && isNumber(value[37:])
}

// daprLock writes the owner that the application names under lock||resource or lock||prefix||resource, of
// which no part has the separator (dapr/dapr pkg/components/lock/lock_config.go, GetModifiedLockKey;
// components-contrib lock/redis). The value may be anything, so that nothing but the key tells.
func daprLock(key, value string) (Token, bool) {
	rest, ok := strings.CutPrefix(key, "lock||")
	parts := strings.Split(rest, "||")
	ok = ok && len(parts) <= 2 && value != "" && !slices.Contains(parts, "") && !strings.HasPrefix(rest, "|")
	return Token{Recipe: "dapr", Confidence: Likely, Label: value}, ok
}

const rqLock = "rq:scheduler-lock:"

// rqScheduler reads what RQ's scheduler has written under rq:scheduler-lock:queue (rq/rq rq/scheduler.py,
// acquire_locks and _check_and_update_locks): the worker's pid, the scheduler's, once it runs, and 64 random
// hex digits, with colons between them; earlier 32 hex digits, and at first the pid alone.
func rqScheduler(key, value string) (Token, bool) {
	t := Token{Recipe: "rq", Confidence: Certain}
	if !strings.HasPrefix(key, rqLock) {
		return Token{}, false
	}
	parts := strings.Split(value, ":")
	switch {
	case len(parts) == 3 && isNumber(parts[0]) && isNumber(cmp.Or(parts[1], parts[0])) && isHex(parts[2], 64):
		t.PID, t.LibraryID = cmp.Or(parts[1], parts[0]), parts[2]
	case isHex(value, 32):
		t.LibraryID = value
	case len(value) <= 10 && isNumber(value):
		t.PID = value
	default:
		return Token{}, false
	}
	return t, true
}
