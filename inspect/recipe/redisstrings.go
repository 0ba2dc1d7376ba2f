package recipe

import (
	"encoding/base64"
	"strings"
	"time"
)

// pythonSignal hides the list that wakes the waiters of python-redis-lock (redis_lock/__init__.py).
func pythonSignal() Shape {
	return Shape{Name: "python-redis-lock", LockOf: func(key string) ([]string, bool) {
		name, ok := strings.CutPrefix(key, pythonSignalPrefix)
		if !ok {
			return nil, false
		}
		return []string{pythonLockPrefix + name}, true
	}}
}

// WakeList is the list by which python-redis-lock's release wakes the longest waiter for a lock
// (BLPOP; UNLOCK_SCRIPT in redis_lock/__init__.py); false for a lock of another library.
func WakeList(key, value string) (list string, ok bool) {
	if _, ok := pythonRedisLock(key, value); !ok {
		return "", false
	}
	return pythonSignalPrefix + strings.TrimPrefix(key, pythonLockPrefix), true
}

const (
	pythonLockPrefix   = "lock:"
	pythonSignalPrefix = "lock-signal:"
)

// pythonRedisLock writes base64 of 18 random bytes under lock:NAME.
func pythonRedisLock(key, value string) (Token, bool) {
	ok := strings.HasPrefix(key, pythonLockPrefix) && len(value) == 24 && isBase64(base64.StdEncoding, value, 18)
	return Token{Recipe: "python-redis-lock", Confidence: Likely}, ok
}

// shedLockRedis writes ADDED:time@host:uuid under job-lock:environment:name (InternalRedisLockProvider.java); older
// versions have no uuid. An application may choose another prefix; audit trails are written so, too.
func shedLockRedis(key, value string) (Token, bool) {
	rest, ok := strings.CutPrefix(value, "ADDED:")
	at, owner, cut := strings.Cut(rest, "@")
	if !ok || !cut {
		return Token{}, false
	}
	since, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return Token{}, false
	}
	t := Token{Recipe: "shedlock", Confidence: ifNamed(key), Since: since.UTC(), Host: owner}
	if n := len(owner) - 36; n > 0 && owner[n-1] == ':' && isUUID(owner[n:]) {
		t.Host = owner[:n-1]
	}
	if strings.HasPrefix(key, "job-lock:") {
		t.Confidence = Certain
	}
	return t, true
}

// springIntegration writes the UUID of its registry, one for each process, under registry:path
// (RedisLockRegistry.java). Many others write a random UUID for each lock; those with prefixes of their own
// are asked before.
func springIntegration(key, value string) (Token, bool) {
	ok := isRandomUUID(value) && strings.Contains(key, ":") && !strings.HasPrefix(key, "bull:")
	return Token{Recipe: springName, Confidence: Possible, LibraryID: value}, ok
}

const springName = "spring-integration"

// springChannels returns the channels of which one announces a lock's release, if the registry's
// locks listen (PUB_SUB_LOCK in RedisLockRegistry.java): REGISTRY-channel:KEY. The message is the
// key. If the key has several colons, the end of the registry's name is unknown. A client that does
// not wait for the lock ignores the message.
func springChannels(key string) []string {
	var channels []string
	for i := range len(key) {
		if key[i] == ':' && len(channels) < 8 {
			channels = append(channels, key[:i]+"-channel:"+key)
		}
	}
	return channels
}

// laravelLock writes 16 random letters and digits (Cache/Lock.php), which PHP's serializer may wrap. go-zero writes
// 16 letters, so that only a digit or the key's name distinguishes them.
func laravelLock(key, value string) (Token, bool) {
	if inner, ok := strings.CutPrefix(value, `s:16:"`); ok {
		value = strings.TrimSuffix(inner, `";`)
	}
	const letters = "abcdefghijklmnopqrstuvwxyz"
	if len(value) != 16 || strings.Trim(value, letters+strings.ToUpper(letters)+decimals) != "" {
		return Token{}, false
	}
	for _, word := range []string{"laravel", "-cache-", "_cache_", "_cache:", "framework/schedule-"} {
		if strings.Contains(key, word) {
			return Token{Recipe: "laravel", Confidence: Likely}, true
		}
	}
	return Token{Recipe: "laravel", Confidence: Possible}, strings.ContainsAny(value, decimals)
}

// timeUUID recognises a version 1 UUID with dashes, as ioredis-lock writes. It is not a separate
// recipe, but it has a time and a MAC address.
func timeUUID(key, value string) (Token, bool) {
	if !isUUID(value) {
		return Token{}, false
	}
	t, ok := redisPy(key, strings.ReplaceAll(value, "-", ""))
	t.Recipe, t.Confidence = "token", Possible
	return t, ok
}
