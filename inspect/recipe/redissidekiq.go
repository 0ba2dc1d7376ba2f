package recipe

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	sidekiqName   = "sidekiq-unique-jobs"
	sidekiqPrefix = "uniquejobs:"
	sidekiqLocked = ":LOCKED"
	sidekiqRun    = ":RUN"
)

// sidekiqUniqueJobs keeps the holders of a job's lock in the hash DIGEST:LOCKED, by job id. The
// value is the time at which the lock was taken, as seconds since 1970 (versions 7 and 8) or in a
// JSON object (9). The lock is shown under that key. The limit is in DIGEST:INFO if the application
// enables that (locksmith.rb, lua/lock.lua).
func sidekiqUniqueJobs() Shape {
	return Shape{
		Name: sidekiqName, Clients: []string{"redis-rb", "redis-client"}, Patterns: []string{"*" + sidekiqPrefix + "*"},
		LockOf: sidekiqLockOf, Queries: sidekiqQueries, Decode: sidekiqDecode,
	}
}

// sidekiqDigest splits a key into uniquejobs:HEX, with :RUN if it has that, and the rest. Under the
// application's own prefix (lock_prefix, redis-namespace), only the lock's key is recognised.
func sidekiqDigest(key string) (digest, suffix string, ok bool) {
	prefix := sidekiqPrefix
	if !strings.HasPrefix(key, prefix) {
		before, locked := strings.CutSuffix(key, sidekiqLocked)
		if !locked {
			return "", "", false
		}
		prefix = sidekiqRegisters(before)
	}
	digits, _, _ := strings.Cut(key[len(prefix):], ":")
	if !isHex(digits, 32) && !isHex(digits, 64) {
		return "", "", false
	}
	digest = prefix + digits
	if rest := key[len(digest):]; strings.HasPrefix(rest, sidekiqRun) {
		digest += sidekiqRun
	}
	return digest, key[len(digest):], true
}

// sidekiqRegisters is the prefix of a digest, which its registers have as well.
func sidekiqRegisters(digest string) string {
	digest = strings.TrimSuffix(digest, sidekiqRun)
	return digest[:strings.LastIndex(digest, ":")+1]
}

func sidekiqLockOf(key string) ([]string, bool) {
	switch key[max(0, strings.LastIndexByte(key, ':')):] {
	case ":EXISTS", ":VERSION", ":AVAILABLE", ":GRABBED": // of the gem redis-semaphore (version 6), without a holder
		return nil, true
	}
	digest, suffix, ok := sidekiqDigest(key)
	switch suffix {
	case sidekiqLocked:
		return nil, false
	case "", ":QUEUED", ":PRIMED", ":INFO":
		if ok {
			return []string{digest + sidekiqLocked}, true
		}
		// Keys of no single lock, such as the registers of all digests.
		return nil, strings.HasPrefix(key, sidekiqPrefix)
	}
	return nil, false
}

// SidekiqKeys returns this key of a lock and the lock's other keys, in the order of the library's
// unlock (unlock.lua of versions 7 and 8). The others are the digest, the lists of queued jobs, the
// metadata, and the registers of all digests. It returns false for a key of another library.
func SidekiqKeys(key string) (keys []string, digest string, ok bool) {
	digest, suffix, ok := sidekiqDigest(key)
	if !ok || suffix != sidekiqLocked {
		return nil, "", false
	}
	registers := sidekiqRegisters(digest)
	return []string{
		key, digest, digest + ":QUEUED", digest + ":PRIMED", digest + ":INFO", registers + "digests",
		registers + "expiring_digests",
	}, digest, true
}

func sidekiqQueries(k Keys) []Query {
	digest, suffix, ok := sidekiqDigest(k.Key)
	if !ok || suffix != sidekiqLocked || k.Main.Type != TypeHash {
		return nil
	}
	return []Query{{digest + ":INFO", TypeString, Limit}}
}

// sidekiqInfo is what the library writes about a holder or a lock.
type sidekiqInfo struct {
	Limit  int     `json:"limit"`
	Worker string  `json:"worker"`
	Time   float64 `json:"time"`
}

func decodeSidekiqInfo(text string) (info sidekiqInfo, ok bool) {
	if at, err := strconv.ParseFloat(text, 64); err == nil {
		return sidekiqInfo{Time: at}, true
	}
	if json.Unmarshal([]byte(text), &info) != nil {
		return sidekiqInfo{}, false
	}
	return info, true
}

func sidekiqDecode(k Keys) (Record, bool) {
	digest, suffix, ok := sidekiqDigest(k.Key)
	if !ok || suffix != sidekiqLocked || k.Main.Type != TypeHash || len(k.Main.Items) == 0 {
		return Record{}, false
	}
	r := Record{Recipe: sidekiqName, Confidence: Certain, Kind: "mutex"}
	usual := strings.HasPrefix(k.Key, sidekiqPrefix)
	if !usual {
		r.Confidence = Likely
	}
	for _, f := range k.Main.Items {
		if f.Name == "" || len(f.Name) > 64 {
			return Record{}, false
		}
		info, ok := decodeSidekiqInfo(f.Text)
		if !ok {
			return Record{}, false
		}
		c := Claim{
			Name: f.Name, ExpiresAt: k.Main.ExpiresAt, NoExpiry: k.Main.NoExpiry, Label: info.Worker,
			Since: epoch(info.Time),
		}
		if c.Label == "" && c.Since.IsZero() {
			if !usual {
				return Record{}, false
			}
			r.Confidence = Likely
		}
		r.Limit = max(r.Limit, info.Limit)
		r.Claims = append(r.Claims, c)
	}
	info, _ := decodeSidekiqInfo(k.Auxiliary[digest+":INFO"].Text)
	r.Limit = max(r.Limit, info.Limit)
	for i := range r.Claims {
		r.Claims[i].Label = cmp.Or(r.Claims[i].Label, info.Worker)
	}
	if r.Limit > 1<<20 {
		r.Limit = 0
	}
	if r.Limit > 1 || len(r.Claims) > 1 {
		r.Kind = "semaphore"
	} else {
		r.Limit = 0
	}
	return r, true
}

// epoch converts seconds since 1970; zero if they are implausible.
func epoch(seconds float64) time.Time {
	if math.IsNaN(seconds) || seconds < 1e9 || seconds > 1e10 {
		return time.Time{}
	}
	return time.UnixMicro(int64(seconds * 1e6)).UTC()
}
