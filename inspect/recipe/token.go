package recipe

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
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

// Token is a contender as patterns read it: the value of a plain Redis lock key, or a znode. Fields that the library
// does not write are empty.
type Token struct {
	// Recipe and how sure it is: values of different libraries often have the same shape.
	Recipe     string
	Confidence Confidence
	// Kind as in the JSON; empty means a mutex.
	Kind string
	// Label, Host, PID and Thread are the owner's own report, LibraryID is the id of its client's instance.
	Label, Host, PID, Thread, LibraryID string
	Mode                                Mode
	// HasMode is set if a pattern gave the mode.
	HasMode bool
	// Count is the number of unnamed holders that share the lock; 0 if the value is one holder.
	Count int
	// Since is the time of the request for the lock, and Until the end of its hold, by the owner's
	// clock. They are zero when the value does not have them.
	Since, Until time.Time
}

// CustomGroups are the names of groups that patterns may have. mode is shared for r, read, reader,
// s or shared, whatever their case, and exclusive for anything else. since and until are instants:
// RFC 3339, or seconds, milliseconds, microseconds or nanoseconds since 1970, depending on the
// number of digits. uuid1 is a UUID of version 1, in hex digits or base64: its time, and its host's
// MAC address. count is a number of holders.
func CustomGroups() []string {
	return []string{"host", "pid", "thread", "label", "library_id", "mode", "since", "until", "uuid1", "count"}
}

// set sets the part that a group matched; false if the text cannot be one.
func (t *Token) set(group, text string) (ok bool) {
	switch group {
	case "mode":
		t.Mode, t.HasMode = Exclusive, true
		if slices.Contains([]string{"r", "read", "reader", "s", "shared"}, strings.ToLower(text)) {
			t.Mode = Shared
		}
		return true
	case "since":
		t.Since, ok = instant(text)
		return ok
	case "until":
		t.Until, ok = instant(text)
		return ok
	case "uuid1":
		return t.setUUID1(text)
	case "count":
		n, err := strconv.Atoi(text)
		t.Count, t.Mode, t.HasMode = n, Shared, true
		return err == nil && n > 0 && n <= math.MaxInt32
	}
	fields := map[string]*string{
		"host": &t.Host, "pid": &t.PID, "thread": &t.Thread, "label": &t.Label,
		"library_id": &t.LibraryID,
	}
	*fields[group] = text
	return true
}

// instant reads a time. A number must lie between 2009, when Redis was new, and 2100.
func instant(text string) (time.Time, bool) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), true
	}
	whole, _, _ := strings.Cut(text, ".")
	unit := map[int]time.Duration{
		10: time.Second, 13: time.Millisecond, 16: time.Microsecond,
		19: time.Nanosecond,
	}[len(whole)]
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || unit == 0 {
		return time.Time{}, false
	}
	at := time.UnixMicro(int64(n * (float64(unit) / float64(time.Microsecond)))).UTC()
	return at, at.Year() >= 2009 && at.Year() < 2100
}

// setUUID1 reads a UUID of version 1 (RFC 9562 section 5.1): its creation time and the host's MAC
// address. Random bytes that look like one are rejected by their implausible time.
func (t *Token) setUUID1(text string) bool {
	var raw []byte
	var err error
	switch len(text) {
	case 36, 32:
		raw, err = hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	case 24:
		raw, err = base64.StdEncoding.DecodeString(text)
	}
	if err != nil || len(raw) != 16 || raw[6]>>4 != 1 || raw[8]>>6 != 2 {
		return false
	}
	ticks := int64(raw[6]&0x0f)<<56 | int64(raw[7])<<48 | int64(raw[4])<<40 | int64(raw[5])<<32 |
		int64(raw[0])<<24 | int64(raw[1])<<16 | int64(raw[2])<<8 | int64(raw[3])
	const gregorian = 122192928000000000 // 100 ns between 1582-10-15 and 1970-01-01
	since := time.Unix((ticks-gregorian)/1e7, (ticks-gregorian)%1e7*100)
	if ticks < gregorian || since.Year() < 2009 || since.Year() > 2100 {
		return false
	}
	mac := make([]string, 6)
	for i, b := range raw[10:] {
		mac[i] = hex.EncodeToString([]byte{b})
	}
	t.Host, t.Since = strings.Join(mac, ":"), since.UTC()
	return true
}

// IsAnonymous reports whether a value only says that something holds the lock, or how many do.
// Such a value is a number or a word such as true, also in JSON or PHP serialization.
func IsAnonymous(value string) bool {
	v := strings.ToLower(strings.Trim(value, `";`))
	if kind, rest, ok := strings.Cut(v, ":"); ok && (kind == "b" || kind == "i") {
		v = rest
	}
	if slices.Contains([]string{"true", "yes", "ok", "exclusive", "locked", "lock"}, v) {
		return true
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(v, "-"), ".")
	return strings.Trim(whole+fraction, decimals) == ""
}

func encodeRandom(random [16]byte) string { return base64.RawURLEncoding.EncodeToString(random[:]) }

func lockscopeToken(_, value string) (Token, bool) {
	rest, ok := strings.CutPrefix(value, lockscopePrefix)
	if !ok || len(rest) < 23 || rest[22] != ':' || !isBase64(base64.RawURLEncoding, rest[:22], 16) {
		return Token{}, false
	}
	return Token{Recipe: "lockscope", Confidence: Certain, Label: rest[23:]}, true
}

func isBase64(enc *base64.Encoding, s string, bytes int) bool {
	raw, err := enc.Strict().DecodeString(s)
	return err == nil && len(raw) == bytes
}
