//go:build unix

package campaign

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Op is the kind of step of a record.
type Op string

// The steps. Acquire, try, release, extend and enter are calls, each followed by its answers.
const (
	OpStart    Op = "start"    // a worker has started
	OpAcquire  Op = "acquire"  // waits for its turn
	OpTry      Op = "try"      // does not wait
	OpGranted  Op = "granted"  // with the token and the name on the server
	OpRefused  Op = "refused"  // with the error; the lock is not held
	OpRelease  Op = "release"  // the holder has stopped its work
	OpReleased Op = "released" // with the error, if any
	OpEnded    Op = "ended"    // the hold's context ended, with its cause
	OpExtend   Op = "extend"
	OpExtended Op = "extended" // with the error, if any
	OpEntered  Op = "entered"  // re-entered, and left again; with the error, if any
	OpRead     Op = "read"     // from the fenced store
	OpWrote    Op = "wrote"    // to the store; with the error if it refused
	OpStall    Op = "stall"    // the process has not run since Since
	OpStood    Op = "stood"    // a process stopped at a place of package failpoint
	OpExit     Op = "exit"     // a clean end, with what it left behind
	OpForced   Op = "forced"   // the nemesis removed a contender, a key or a directory
	OpFault    Op = "fault"    // by the nemesis, in words
	OpHealed   Op = "healed"
)

// Record is one line of a report.
type Record struct {
	At     int64  `json:"t"` // ns of CLOCK_MONOTONIC
	Op     Op     `json:"op"`
	Worker int    `json:"w"`
	Client int    `json:"c,omitempty"`
	Lock   string `json:"lock,omitempty"`
	Kind   string `json:"kind,omitempty"`
	// Hold distinguishes the attempts of one worker.
	Hold  int64  `json:"h,omitempty"`
	Token uint64 `json:"token,omitempty"`
	Name  string `json:"name,omitempty"`
	Err   string `json:"err,omitempty"`
	// Seq is the place of a read or write in the order of the store, and Value the value read or
	// written.
	Seq   int64 `json:"seq,omitempty"`
	Value int64 `json:"v,omitempty"`
	// Since is the start of a stall, ns of CLOCK_MONOTONIC.
	Since int64 `json:"since,omitempty"`
	// Goroutines and Files are the excess at the end over the start.
	Goroutines int    `json:"goroutines,omitempty"`
	Files      int    `json:"files,omitempty"`
	Text       string `json:"text,omitempty"`
}

// Now is CLOCK_MONOTONIC in nanoseconds: the same for all processes of the machine.
func Now() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // every kernel has this clock
	}
	return ts.Nano()
}

// Report is the file of a worker's records. Each is written at once, so that it survives a kill of
// the process.
type Report struct {
	mu     sync.Mutex
	file   *os.File
	worker int
	fail   func(error)
}

// OpenReport opens a worker's report for appending. fail gets the error of each failed write.
func OpenReport(path string, worker int, fail func(error)) (*Report, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("campaign: %w", err)
	}
	return &Report{file: f, worker: worker, fail: fail}, nil
}

// Add appends a record; its time is now unless it has one.
func (r *Report) Add(rec Record) {
	rec.At = cmp.Or(rec.At, Now())
	rec.Worker = r.worker
	line, err := json.Marshal(rec)
	if err != nil {
		panic(err) // cannot happen: a Record can be marshalled
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := r.file.Write(append(line, '\n')); err != nil {
		r.fail(fmt.Errorf("campaign: report: %w", err))
	}
}

// Close closes the file.
func (r *Report) Close() error { return r.file.Close() }

// ReadReport reads a report. It ignores a cut last line, which a killed process leaves.
func ReadReport(path string) ([]Record, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // killed before its first record
	}
	if err != nil {
		return nil, fmt.Errorf("campaign: %w", err)
	}
	defer f.Close()
	var list []Record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var rec Record
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
			if lines.Scan() {
				return nil, fmt.Errorf("campaign: %s: %w", path, err)
			}
			break
		}
		list = append(list, rec)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("campaign: %s: %w", path, err)
	}
	return list, nil
}

func seconds(ns int64) time.Duration { return time.Duration(ns) }
