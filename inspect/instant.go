package inspect

import "time"

// Instant is a time.Time in 8 of its 24 bytes: nanoseconds since 1970, between 1678 and 2262. The zero value is no time. It has
// no monotonic clock, so that a step of ours shows in it.
type Instant int64

// InstantOf is a time's; zero for the zero time.
func InstantOf(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixNano())
}

// Time is the same in our time zone; the zero time for no time.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(i))
}

// IsZero reports whether it is no time.
func (i Instant) IsZero() bool { return i == 0 }

// MarshalText implements encoding.TextMarshaler as time.Time does, in UTC.
func (i Instant) MarshalText() ([]byte, error) { return i.Time().UTC().MarshalText() }

// UnmarshalText implements encoding.TextUnmarshaler as time.Time does, with its errors.
func (i *Instant) UnmarshalText(text []byte) error {
	var t time.Time
	if err := t.UnmarshalText(text); err != nil {
		return err
	}
	*i = InstantOf(t)
	return nil
}
