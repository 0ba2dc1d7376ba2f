package recipe

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"
)

// Confidence in a decoded fact.
type Confidence string

// The levels of confidence.
const (
	Certain  Confidence = "certain"
	Likely   Confidence = "likely"
	Possible Confidence = "possible"
)

// Token is the value of a plain Redis lock key, decoded. Fields that the library does not write are empty.
type Token struct {
	// Recipe and how sure it is: values of different libraries often have the same shape.
	Recipe     string
	Confidence Confidence
	// Label, Host and PID are the owner's own report, LibraryID is the id of its client's instance.
	Label, Host, PID, LibraryID string
	// Since is the time of asking for the lock, by the owner's clock; zero when the value does not have it.
	Since time.Time
}

func encodeRandom(random [16]byte) string { return base64.RawURLEncoding.EncodeToString(random[:]) }

func lockscopeToken(_, value string) (Token, bool) {
	rest, ok := strings.CutPrefix(value, lockscopePrefix)
	if !ok || len(rest) < 23 || rest[22] != ':' || !isBase64(base64.RawURLEncoding, rest[:22], 16) {
		return Token{}, false
	}
	return Token{Recipe: "lockscope", Confidence: Certain, Label: rest[23:]}, true
}

// redsync writes standard base64 of 16 random bytes: 24 characters that end in == (redsync mutex.go). So do
// many others whose values are no locks, the tokens of sessions and e-mails above all, so that it is likely
// only under a key that says what it is.
func redsync(key, value string) (Token, bool) {
	ok := len(value) == 24 && strings.HasSuffix(value, "==") && isBase64(base64.StdEncoding, value, 16)
	return Token{Recipe: "redsync", Confidence: ifNamed(key)}, ok
}

// ifNamed grades a value of a common shape: likely under a key that names a lock.
func ifNamed(key string) Confidence {
	if NamesLock(key) {
		return Likely
	}
	return Possible
}

// redislock (bsm) writes unpadded URL base64 of 16 random bytes and behind it the caller's metadata (redislock.go).
func redislock(key, value string) (Token, bool) {
	if len(value) < 22 || isUUID(value) || !isBase64(base64.RawURLEncoding, value[:22], 16) {
		return Token{}, false
	}
	t := Token{Recipe: "redislock", Confidence: ifNamed(key), Label: value[22:]}
	if len(value) > 22 {
		t.Confidence = Possible
	}
	return t, true
}

// redisPy writes uuid1().hex: the time of the acquire call and the host's MAC address can be read from it
// (redis/lock.py, RFC 9562 section 5.1). Other programs keep such ids too; celery-once's locks are named by their task
// (helpers.py, queue_once_key).
func redisPy(key, value string) (Token, bool) {
	raw, err := hex.DecodeString(value)
	if err != nil || len(raw) != 16 || value != strings.ToLower(value) || raw[6]>>4 != 1 || raw[8]>>6 != 2 {
		return Token{}, false
	}
	ticks := int64(raw[6]&0x0f)<<56 | int64(raw[7])<<48 | int64(raw[4])<<40 | int64(raw[5])<<32 |
		int64(raw[0])<<24 | int64(raw[1])<<16 | int64(raw[2])<<8 | int64(raw[3])
	const gregorian = 122192928000000000 // 100 ns between 1582-10-15 and 1970-01-01
	since := time.Unix((ticks-gregorian)/1e7, (ticks-gregorian)%1e7*100)
	if ticks < gregorian || since.Year() < 2009 || since.Year() > 2100 {
		return Token{}, false // before the first Redis: sixteen random bytes that look like a version 1
	}
	mac := make([]string, 6)
	for i, b := range raw[10:] {
		mac[i] = hex.EncodeToString([]byte{b})
	}
	sure := ifNamed(key)
	if strings.HasPrefix(key, "qo_") {
		sure = Likely
	}
	return Token{Recipe: "redis-py", Confidence: sure, Host: strings.Join(mac, ":"), Since: since.UTC()}, true
}

// nodeRedlock writes 16 random bytes as 32 hex digits (node-redlock src/index.ts). Others do so too.
func nodeRedlock(_, value string) (Token, bool) {
	return Token{Recipe: "node-redlock", Confidence: Possible}, isHex(value, 32)
}

func isBase64(enc *base64.Encoding, s string, bytes int) bool {
	raw, err := enc.Strict().DecodeString(s)
	return err == nil && len(raw) == bytes
}
