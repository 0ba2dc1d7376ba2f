package recording

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockscope/inspect"
)

// chunk is about how many contenders a line holds at most.
const chunk = 4096

// lines are the lines of an update, without their ends: one, or several when it is large.
func lines(at time.Time, u inspect.Update) ([][]byte, error) {
	var all [][]byte
	put := u.Put
	for {
		n := fitting(put)
		part := inspect.Update{Put: put[:n]}
		put = put[n:]
		if len(put) == 0 {
			part.Gone, part.Sessions, part.AllSessions = u.Gone, u.Sessions, u.AllSessions
			part.Watches, part.Backend, part.Gap = u.Watches, u.Backend, u.Gap
		}
		line, err := encode(entry{At: at, More: len(put) > 0, Update: part})
		if err != nil {
			return nil, err
		}
		all = append(all, line)
		if len(put) == 0 {
			return all, nil
		}
	}
}

// fitting counts the locks that go on one line.
func fitting(put []*inspect.Lock) int {
	contenders := 0
	for i, l := range put {
		contenders += 1 + l.Contention() + len(l.Masters)
		if contenders > chunk && i > 0 {
			return i
		}
	}
	return len(put)
}

func encode(e entry) ([]byte, error) {
	if t := e.Update.Watches; t != nil {
		escaped := *t
		escaped.Sessions = make(map[string][]int64, len(t.Sessions))
		for path, sessions := range t.Sessions {
			escaped.Sessions[inspect.Escape(path)] = sessions
		}
		e.Update.Watches = &escaped
	}
	line := append([]byte(`{"at":`), quote(e.At.Format(time.RFC3339Nano))...)
	if e.More {
		line = append(line, `,"more":true`...)
	}
	line, err := appendValue(append(line, `,"update":`...), reflect.ValueOf(e.Update))
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	line = append(line, '}')
	if len(line) > MaxLine {
		return nil, fmt.Errorf("recording: a line of %d bytes is over the limit of %d", len(line), MaxLine)
	}
	return line, nil
}

func quote(s string) []byte { return strconv.AppendQuote(nil, s) }

// appendValue writes a value as JSON as encoding/json does, but leaves out fields that are zero, as most are, and escapes
// all text.
func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	if _, text := v.Interface().(encoding.TextMarshaler); !text {
		switch v.Kind() {
		case reflect.String:
			text, err := json.Marshal(inspect.Escape(v.String()))
			return append(b, text...), err
		case reflect.Struct:
			return appendStruct(b, v)
		case reflect.Pointer:
			if !v.IsNil() {
				return appendValue(b, v.Elem())
			}
		case reflect.Slice:
			if !v.IsNil() {
				return appendSlice(b, v)
			}
		case reflect.Map:
			if !v.IsNil() && v.Type().Elem().Kind() == reflect.Struct {
				return appendMap(b, v)
			}
		}
	}
	text, err := json.Marshal(v.Interface())
	return append(b, text...), err
}

func appendStruct(b []byte, v reflect.Value) ([]byte, error) {
	start := len(b)
	b = append(b, '{')
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i)
		if !name.IsExported() || field.IsZero() || name.Tag.Get("json") == "-" {
			continue
		}
		if len(b) > start+1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), jsonName(name)...), `":`...)
		var err error
		if b, err = appendValue(b, field); err != nil {
			return b, fmt.Errorf("%s: %w", name.Name, err)
		}
	}
	return append(b, '}'), nil
}

// jsonName is the name that encoding/json reads the field by.
func jsonName(f reflect.StructField) string {
	if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag != "" {
		return tag
	}
	return f.Name
}

func appendSlice(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '[')
	for i := range v.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, v.Index(i)); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// appendMap writes a map from numbers to structs.
func appendMap(b []byte, v reflect.Value) ([]byte, error) {
	b = append(b, '{')
	for i, key := range v.MapKeys() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, fmt.Sprint(key)), ':')
		var err error
		if b, err = appendStruct(b, v.MapIndex(key)); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

// decode reads a line.
func decode(line []byte) (entry, error) {
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return entry{}, err
	}
	if slices.Contains(e.Update.Put, nil) {
		return entry{}, fmt.Errorf("%w: a lock is null", ErrFormat)
	}
	if err := unescape(&e.Update); err != nil {
		return entry{}, err
	}
	if err := checkWords(&e.Update); err != nil {
		return entry{}, err
	}
	if t := e.Update.Watches; t != nil {
		raw := make(map[string][]int64, len(t.Sessions))
		for path, sessions := range t.Sessions {
			p, err := inspect.Unescape(path)
			if err != nil {
				return entry{}, err
			}
			raw[p] = sessions
		}
		t.Sessions = raw
	}
	return e, nil
}
