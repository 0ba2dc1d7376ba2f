package recipe

import "strings"

// bullMQ writes the worker's uuid and a number under prefix:queue:job:lock (moveToActive); Bull, before it, the uuid of
// the queue's client under bull:queue:job:lock.
func bullMQ(key, value string) (Token, bool) {
	if !strings.HasSuffix(key, ":lock") || len(value) < 36 || !isUUID(value[:36]) {
		return Token{}, false
	}
	t := Token{Recipe: "bullmq", Confidence: Certain, LibraryID: value[:36]}
	if value == value[:36] {
		t.Confidence = Possible
		return t, strings.HasPrefix(key, "bull:")
	}
	return t, value[36] == ':' && isNumber(value[37:])
}

// daprLock writes the owner that the application names under lock||app||resource (Dapr's lock.redis).
func daprLock(key, value string) (Token, bool) {
	return Token{Recipe: "dapr", Confidence: Certain, Label: value}, strings.HasPrefix(key, "lock||")
}

// rqScheduler writes the name of the scheduler, 32 hex digits, under rq:scheduler-lock:queue (rq/scheduler.py).
func rqScheduler(key, value string) (Token, bool) {
	ok := strings.HasPrefix(key, "rq:scheduler-lock:") && len(value) == 32 && isHex(value)
	return Token{Recipe: "rq", Confidence: Certain, LibraryID: value}, ok
}
