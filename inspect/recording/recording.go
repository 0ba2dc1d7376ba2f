// Package recording saves source updates to a file and replays them: a recording is a source like
// any other.
//
// A recording is a text file of JSON lines. The first is a header, {"recording":2,"at":TIME}. Each
// other line is an update, {"at":TIME,"update":{...}}, with the Go field names of inspect.Update
// and without empty fields. A large update continues on the next line if "more" is true.
//
// At most once a minute there is a whole snapshot, written as the updates that a source sends on
// its first pass. Its first line begins with "whole":"first", the others with "whole":"rest". Full
// playback skips snapshots; seeking starts at the one before the wanted moment. In a compressed
// file, each snapshot begins a zstd frame.
//
// Instants are absolute, in RFC 3339. All text except a finding's evidence is escaped as by
// inspect.Escape. A file may be compressed with gzip or zstd.
package recording

import (
	"errors"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Version of the format that this package writes, and the only one that it reads.
const Version = 2

// MaxLine is the longest line that is written and read, in bytes.
const MaxLine = 32 << 20

// ErrFormat is wrapped by every error about a recording that cannot be read.
var ErrFormat = errors.New("not a readable recording")

// header is the first line of a recording.
type header struct {
	Recording int       `json:"recording"`
	At        time.Time `json:"at"`
}

// Values of entry.Whole, and the start of a whole snapshot's first line, up to its time.
const (
	wholeFirst = "first"
	wholeRest  = "rest"
	wholeBegin = `{"whole":"` + wholeFirst + `","at":"`
)

// entry is any other line.
type entry struct {
	Whole  string         `json:"whole,omitzero"`
	At     time.Time      `json:"at"`
	More   bool           `json:"more,omitzero"`
	Update inspect.Update `json:"update"`
}
