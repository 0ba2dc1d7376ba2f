//go:build unix

package campaign

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Store is a counter in a file, guarded by a lock. It remembers the greatest fencing token it has
// seen and refuses smaller ones. Reads and writes are atomic across processes (flock), but only the
// lock guards the time between them.
type Store struct {
	path string
	// Fenced is false for a store that ignores tokens.
	Fenced bool
}

// NewStore returns a fenced store in a file, which is created on first use.
func NewStore(path string) Store { return Store{path: path, Fenced: true} }

// ErrStale is returned if the store has seen a greater token.
var ErrStale = errors.New("the store has seen a newer token")

// Read returns the counter for the holder of token. seq is the step's place in the order of all
// steps.
func (s Store) Read(token uint64) (value, seq int64, err error) {
	err = s.step(func(st *state) error {
		if err := s.admit(st, token); err != nil {
			seq = st.Seq
			return err
		}
		value, seq = st.Value, st.Seq
		return nil
	})
	return value, seq, err
}

// Write sets the counter.
func (s Store) Write(token uint64, value int64) (seq int64, err error) {
	err = s.step(func(st *state) error {
		if err := s.admit(st, token); err != nil {
			seq = st.Seq
			return err
		}
		st.Value, seq = value, st.Seq
		return nil
	})
	return seq, err
}

// Value reads the counter without a token.
func (s Store) Value() (value int64, err error) {
	err = s.step(func(st *state) error {
		value = st.Value
		return nil
	})
	return value, err
}

func (s Store) admit(st *state, token uint64) error {
	st.Seq++
	if s.Fenced && token < st.Token {
		return ErrStale
	}
	st.Token = max(st.Token, token)
	return nil
}

type state struct {
	Token      uint64
	Value, Seq int64
}

func (s Store) step(f func(*state) error) error {
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("campaign: store: %w", err)
	}
	defer file.Close() // also unlocks it, as does the end of the process
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return fmt.Errorf("campaign: store: %w", err)
	}
	var st state
	text, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("campaign: store: %w", err)
	}
	if len(text) > 0 {
		if _, err := fmt.Sscanf(string(text), "%d %d %d", &st.Token, &st.Value, &st.Seq); err != nil {
			return fmt.Errorf("campaign: store %s: %q: %w", s.path, text, err)
		}
	}
	refused := f(&st)
	if _, err := file.WriteAt([]byte(fmt.Sprintf("%020d %020d %020d\n", st.Token, st.Value, st.Seq)), 0); err != nil {
		return fmt.Errorf("campaign: store: %w", err)
	}
	return refused
}
