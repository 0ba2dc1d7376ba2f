package recording

import (
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json" // encoding/json/v2 of Go 1.27
	"github.com/go-json-experiment/json/jsontext"

	"github.com/lockscope/lockscope/inspect"
)

// chunk is the approximate maximum of contenders in a line.
const chunk = 4096

// lines are the lines of an update, without their ends: one, or several when it is large.
func lines(whole string, at time.Time, u inspect.Update) ([][]byte, error) {
	var all [][]byte
	for put := u.Put; ; {
		n := fitting(put)
		e := entry{Whole: whole, At: at, More: n < len(put), Update: u}
		if whole != "" {
			whole = wholeRest
		}
		if e.More {
			e.Update = inspect.Update{}
		}
		e.Update.Put, put = put[:n], put[n:]
		line, err := encode(e)
		if err != nil {
			return nil, err
		}
		if all = append(all, line); !e.More {
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

// format of a line: most fields are zero, and text may hold any bytes, which JSON cannot. Names and IDs
// escape themselves.
var format = json.JoinOptions(
	json.OmitZeroStructFields(true),
	json.Deterministic(true),
	json.WithMarshalers(json.JoinMarshalers(
		json.MarshalToFunc(func(e *jsontext.Encoder, s string) error { return e.WriteToken(jsontext.String(inspect.Escape(s))) }),
		json.MarshalToFunc(func(e *jsontext.Encoder, d time.Duration) error { return e.WriteToken(jsontext.Int(int64(d))) }),
		json.MarshalFunc(func(evidence map[string]any) ([]byte, error) { return jsonv1.Marshal(evidence) }),
	)),
)

func encode(e entry) ([]byte, error) {
	line, err := json.Marshal(e, format)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	if len(line) > MaxLine {
		return nil, fmt.Errorf("recording: a line of %d bytes is over the limit of %d", len(line), MaxLine)
	}
	return line, nil
}

// decoding reads the format, with every instant moved by this much.
func decoding(by time.Duration) json.Options {
	return json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, s *string) error {
			return readText(d, func(text string) (err error) {
				*s, err = inspect.Unescape(text)
				return err
			})
		}),
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, t *time.Time) error {
			err := readText(d, func(text string) error { return t.UnmarshalText([]byte(text)) })
			if !t.IsZero() {
				*t = t.Add(by)
			}
			return err
		}),
		json.UnmarshalFromFunc(func(d *jsontext.Decoder, span *time.Duration) error {
			var ns int64
			err := json.UnmarshalDecode(d, &ns)
			*span = time.Duration(ns)
			return err
		}),
		json.UnmarshalFunc(func(text []byte, evidence *map[string]any) error {
			return jsonv1.Unmarshal(text, evidence)
		}),
		ourWords,
	))
}

// readText passes a string to set; null counts as absent.
func readText(d *jsontext.Decoder, set func(string) error) error {
	token, err := d.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case 'n':
		return nil
	case '"':
		return set(token.String())
	}
	return fmt.Errorf("%s instead of a string", token)
}

// decode reads a line.
func decode(line []byte, options json.Options) (entry, error) {
	var e entry
	if err := json.Unmarshal(line, &e, options); err != nil {
		return entry{}, err
	}
	if slices.Contains(e.Update.Put, nil) {
		return entry{}, errors.New("a lock is null")
	}
	return e, checkNames(&e.Update)
}
