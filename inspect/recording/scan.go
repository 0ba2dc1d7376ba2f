package recording

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// scan finds where values stand, line by line, without reading them.
type scan struct {
	offset, marked int64
	backends       map[string]*scanned // by their names as they are written
	names          []string            // of these, as they came
	count          int                 // of locks
	buffer         *bytes.Buffer
	in             *jsontext.Decoder // of the buffer
	line0          int64             // where the line begins
}

// scanned is a backend's newest values, and its locks by their IDs as they are written.
type scanned struct {
	backendPlaces
	locks map[string]*place
}

func newScan(offset int64) *scan {
	buffer := &bytes.Buffer{}
	return &scan{offset: offset, marked: offset, backends: make(map[string]*scanned), buffer: buffer, in: jsontext.NewDecoder(buffer)}
}

// line takes in one line: when it was recorded, and whether its update ends with it.
func (s *scan) line(line []byte) (at time.Time, whole bool, err error) {
	s.buffer.Reset()
	s.buffer.Write(line)
	s.in.Reset(s.buffer)
	s.line0, whole = s.offset, true
	err = s.fields(func(name string) error {
		switch name {
		case "at":
			text, err := s.in.ReadToken()
			if err == nil {
				err = at.UnmarshalText([]byte(text.String()))
			}
			return err
		case "more":
			token, err := s.in.ReadToken()
			whole = err == nil && token.Kind() != 't'
			return err
		case "update":
			return s.update()
		}
		return s.in.SkipValue()
	})
	s.offset += int64(len(line))
	return at, whole, err
}

// fields visits an object's fields, each of which visit reads.
func (s *scan) fields(visit func(name string) error) error {
	if token, err := s.in.ReadToken(); err != nil || token.Kind() != '{' {
		return fmt.Errorf("%w: no object: %v", ErrFormat, err)
	}
	for s.in.PeekKind() == '"' {
		name, err := s.in.ReadToken()
		if err != nil {
			return err
		}
		if err := visit(name.String()); err != nil {
			return err
		}
	}
	_, err := s.in.ReadToken()
	return err
}

// value is the next one, and where it stands.
func (s *scan) value() (jsontext.Value, place, error) {
	v, err := s.in.ReadValue()
	return v, place{s.line0 + s.in.InputOffset() - int64(len(v)), int32(len(v))}, err
}

// update takes in the values of an update.
func (s *scan) update() error {
	var is backendPlaces
	var backend, watched []byte
	covers := false
	err := s.fields(func(name string) (err error) {
		var v jsontext.Value
		switch name {
		case "Put":
			return s.each(s.found)
		case "Gone":
			return s.each(s.gone)
		case "Backend":
			if v, is.backend, err = s.value(); err == nil {
				backend, _ = field(v, "Name")
			}
		case "Sessions":
			_, is.sessions, err = s.value()
		case "AllSessions":
			v, _, err = s.value()
			is.allSessions = string(v) == "true"
		case "SessionsAt":
			_, is.sessionsAt, err = s.value()
		case "Watches":
			var at place
			if v, at, err = s.value(); err == nil {
				is.watches = []place{at}
				watched, _ = field(v, "Backend")
				_, covers = field(v, "Covers")
			}
		default:
			err = s.in.SkipValue()
		}
		return err
	})
	if backend != nil {
		b := s.backend(backend)
		if b.backend = is.backend; is.sessions.size > 0 {
			b.sessions, b.sessionsAt, b.allSessions = is.sessions, is.sessionsAt, is.allSessions
		}
	}
	if watched != nil {
		b := s.backend(watched)
		if !covers {
			b.watches = nil
		}
		if b.watches = append(slices.Clip(b.watches), is.watches...); len(b.watches) > keptTables {
			b.watches = b.watches[1:]
		}
	}
	return err
}

// each visits an array's values.
func (s *scan) each(visit func(jsontext.Value, place)) error {
	if token, err := s.in.ReadToken(); err != nil || token.Kind() != '[' {
		return fmt.Errorf("%w: no array: %v", ErrFormat, err)
	}
	for s.in.PeekKind() != ']' {
		v, at, err := s.value()
		if err != nil {
			return err
		}
		visit(v, at)
	}
	_, err := s.in.ReadToken()
	return err
}

// found takes in the place of a lock; one without an ID is left to whoever reads it.
func (s *scan) found(lock jsontext.Value, at place) {
	id, ok := field(lock, "ID")
	if !ok {
		return
	}
	b := s.backend(backendOf(id))
	if known := b.locks[string(id)]; known != nil {
		*known = at
		return
	}
	b.locks[string(id)] = &at
	s.count++
}

func (s *scan) gone(id jsontext.Value, _ place) {
	b := s.backend(backendOf(id))
	if _, known := b.locks[string(id)]; known {
		delete(b.locks, string(id))
		s.count--
	}
}

// backendOf is the name, in its quote, with which an ID begins.
func backendOf(id []byte) []byte {
	name, _, _ := bytes.Cut(bytes.Trim(id, `"`), []byte(":"))
	return name
}

func (s *scan) backend(name []byte) *scanned {
	name = bytes.Trim(name, `"`)
	b := s.backends[string(name)]
	if b == nil {
		b = &scanned{locks: make(map[string]*place)}
		s.backends[string(name)], s.names = b, append(s.names, string(name))
	}
	return b
}

// field is a field's value, as it is written; most often it is the first.
func field(object jsontext.Value, name string) (value []byte, ok bool) {
	if after, is := bytes.CutPrefix(object, []byte(`{"`+name+`":"`)); is {
		if end := bytes.IndexByte(after, '"'); end >= 0 && bytes.IndexByte(after[:end], '\\') < 0 {
			begin := len(object) - len(after) - 1
			return object[begin : begin+end+2], true
		}
	}
	in := jsontext.NewDecoder(bytes.NewReader(object))
	_, _ = in.ReadToken()
	for in.PeekKind() == '"' {
		key, err := in.ReadToken()
		if err != nil {
			return nil, false
		}
		found := key.String() == name
		v, err := in.ReadValue()
		if err != nil {
			return nil, false
		}
		if found {
			return bytes.Clone(v), true
		}
	}
	return nil, false
}

// mark is the place where the scan is.
func (s *scan) mark(at time.Time) mark {
	s.marked = s.offset
	m := mark{at: at, offset: s.offset}
	for _, name := range s.names {
		b := s.backends[name]
		own := b.backendPlaces
		own.watches, own.locks = slices.Clone(b.watches), make([]place, 0, len(b.locks))
		for _, p := range b.locks {
			own.locks = append(own.locks, *p)
		}
		slices.SortFunc(own.locks, func(a, b place) int { return cmp.Compare(a.offset, b.offset) })
		m.backends = append(m.backends, own)
	}
	return m
}
