// Package recording keeps what sources saw in a file, and plays it again: a recording is a source
// like any other.
//
// A recording is a text of JSON lines. The first is a header, {"recording":2,"at":TIME}. Each other
// one is an update, {"at":TIME,"update":{...}}, with the fields of inspect.Update by their Go names
// and empty ones left out; a large update continues on the next line where "more" is true. Every
// minute at most there is a whole snapshot, as updates of a first look: the first of its lines
// begins with "whole":"first", the others with "whole":"rest". Who plays all leaves them out; who
// seeks a moment begins with the one before it. In a packed file each begins a zstd frame. Instants
// are absolute and in RFC 3339. All text but that of a finding's evidence is in the form of
// inspect.Escape. A file of it may be packed with gzip or zstd.
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

// The words of entry.Whole, and how the first line of a whole snapshot begins, up to its time.
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
