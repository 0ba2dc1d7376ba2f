package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

// filler gives each field of an update a distinct value.
type filler struct {
	n     int
	words []reflect.Value // of named types: kinds, states
}

const hostile = "\\ \x1b\u202e\xff"

func (f *filler) fill(v reflect.Value, field string) {
	f.n++
	switch v.Kind() {
	case reflect.String:
		switch plain := v.Type() == reflect.TypeFor[string](); {
		case !plain && v.Type() != reflect.TypeFor[inspect.Untrusted]():
			f.words = append(f.words, v)
			v.SetString(fmt.Sprint("word", f.n))
		case plain && slices.Contains([]string{"Backend", "Name", "Recipe", "Rule"}, field):
			v.SetString(fmt.Sprint("name", f.n))
		default:
			v.SetString(fmt.Sprint("text", f.n, hostile))
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8:
		v.SetInt(1)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(-f.n))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(float64(f.n) / 2)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), field)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0), field)
		f.fill(v.Index(1), field)
	case reflect.Map:
		f.fillMap(v)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(now.Add(time.Duration(f.n) * time.Second)))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				f.fill(v.Field(i), v.Type().Field(i).Name)
			}
		}
	default:
		panic("filler: unknown type " + v.Type().String())
	}
}

func (f *filler) fillMap(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Interface {
		v.Set(reflect.ValueOf(map[string]any{"name": "text"}))
		return
	}
	key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	f.fill(key, "")
	f.fill(value, "")
	v.Set(reflect.MakeMap(v.Type()))
	v.SetMapIndex(key, value)
}

func full() (inspect.Update, filler) {
	var u inspect.Update
	var f filler
	f.fill(reflect.ValueOf(&u).Elem(), "")
	return u, f
}

// playOne plays a recording of one update.
func playOne(t *testing.T, file []byte) inspect.Update {
	t.Helper()
	played := played(t, file, Kept())
	must.Equal(t, len(played), 1, "updates")
	return played[0]
}

// played returns the updates of a recording, which must be whole.
func played(t *testing.T, file []byte, options ...Option) (list []inspect.Update) {
	t.Helper()
	r := Read(time.Now, bytes.NewReader(file), options...)
	must.Succeed(t, r.All(func(u inspect.Update) { list = append(list, u) }))
	return list
}

var exported = cmp.Options{
	cmpopts.IgnoreUnexported(inspect.Contender{}, inspect.Lock{}, inspect.WatchTable{}, inspect.Spread{}),
	cmpopts.IgnoreFields(inspect.Lock{}, "Custom"), // from the configuration
}

// No field is lost, whatever bytes it contains.
func TestEveryFieldIsRecorded(t *testing.T) {
	u, _ := full()
	must.NoDiff(t, cmp.Diff(u, playOne(t, record(t, script{u})), exported))
}

// testdata/before.jsonl was written by an older encoder and has every field of that time. Reading and
// writing it again only drops fields that no longer exist.
func TestOldRecordingsAreRead(t *testing.T) {
	file := must.Have(os.ReadFile("testdata/before.jsonl"))(t)
	again := must.Have(lines("", now, playOne(t, file)))(t)
	var want, got any
	must.Succeed(t, errors.Join(json.Unmarshal(bytes.Split(file, []byte("\n"))[1], &want), json.Unmarshal(again[0], &got)))
	noMore := cmpopts.IgnoreMapEntries(func(field string, _ any) bool {
		return field == "Trips" || field == "TripsPerSecond" || field == "Within"
	})
	must.NoDiff(t, cmp.Diff(want, got, noMore))
}

var update = flag.Bool("update", false, "rewrite the golden files")

// TestReadingsMatchGoldenFile plays each recording of testdata/readings.txtar, and seeks its end.
func TestReadingsMatchGoldenFile(t *testing.T) {
	const golden = "testdata/readings.txtar"
	all := must.Have(txtar.ParseFile(golden))(t)
	path := filepath.Join(t.TempDir(), "recording")
	for i, f := range all.Files {
		given, _, _ := strings.Cut(string(f.Data), "= ")
		text := strings.TrimSuffix(given, "...\n")
		r := Read(time.Now, strings.NewReader(text), Speed(0), Kept())
		err := r.Run(t.Context(), func(u inspect.Update) {
			given += fmt.Sprintf("= %s\n", bytes.Join(must.Have(lines("", r.Now(), u))(t), nil))
		})
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		end, failure := finderOf(t, path).End(t.Context())
		given += fmt.Sprintf("= cut: %v, %v\n= end: %s, %v\n", r.Cut(), err, end.Format(time.TimeOnly), failure)
		given = strings.NewReplacer(path, "FILE", "unable to unmarshal", "cannot unmarshal").Replace(given) // random
		must.NoDiff(t, cmp.Diff(string(f.Data), given), f.Name, "- golden, + read")
		all.Files[i].Data = []byte(given)
	}
	if *update {
		must.Succeed(t, os.WriteFile(golden, txtar.Format(all), 0o600))
	}
}

// An update is written every ten seconds, with a whole snapshot once a minute.
func TestWrittenLinesMatchGoldenFile(t *testing.T) {
	const golden = "testdata/written.jsonl"
	table := func(covers ...inspect.ID) inspect.Update {
		return inspect.Update{Watches: &inspect.WatchTable{Backend: "zk", Covers: covers}}
	}
	id := func(path string) inspect.ID { return inspect.ID{Backend: "zk", Path: path} }
	updates := slices.Concat(runs()[0].(script), runs()[1].(script), script{table(id("/a")), table(), table(id("/b"))})
	var got bytes.Buffer
	w := must.Have(newWriter(&got, now))(t)
	for i, u := range slices.Repeat(updates, 2) {
		must.Succeed(t, w.write(now.Add(time.Duration(i)*10*time.Second), u))
	}
	if *update {
		must.Succeed(t, os.WriteFile(golden, got.Bytes(), 0o600))
	}
	must.NoDiff(t, cmp.Diff(string(must.Have(os.ReadFile(golden))(t)), got.String()), "- golden, + written")
}

func TestLinesAreLimited(t *testing.T) {
	must.Equal(t, fitting([]*inspect.Lock{{Masters: make([]inspect.Vote, chunk)}, {}}), 1, "large locks on a line")
	list := func(n int) []inspect.Contender { return make([]inspect.Contender, n) }
	large := &inspect.Lock{Holders: list(1000), Waiters: list(1000), Masters: make([]inspect.Vote, 1999)}
	locks := append([]*inspect.Lock{large}, slices.Repeat([]*inspect.Lock{{}}, 200)...)
	must.Equal(t, fitting(locks), 1+96, "locks on a line: one of 4000 parts, and 96 of one")
	w := must.Have(newWriter(io.Discard, now))(t)
	for range 40 {
		w.keep(inspect.Update{Watches: &inspect.WatchTable{Covers: []inspect.ID{{Path: "/l"}}}})
	}
	must.Equal(t, len(w.of("").watches), 32, "watch tables in a snapshot")
	_, err := lines("", now, inspect.Update{Backend: &inspect.Backend{Error: strings.Repeat("x", MaxLine)}})
	must.True(t, err != nil && strings.Contains(err.Error(), "over the limit of 33554432"), err)
}

// Terminal escapes are refused in each field that is printed without escaping, since only our sources
// write it.
func TestEveryWordIsChecked(t *testing.T) {
	u, f := full()
	must.True(t, len(f.words) >= 11, "only", len(f.words), "words")
	l := u.Put[0]
	for _, name := range []*string{
		&l.ID.Backend, &l.Recipe, &l.Holders[0].Recipe, &l.Waiters[0].Recipe, &l.Findings[0].Rule, &u.Gone[0].Backend,
		&u.Backend.Name, &u.Backend.Findings[0].Rule, &u.Watches.Backend, &u.Gap.Backend,
	} {
		f.words = append(f.words, reflect.ValueOf(name).Elem())
	}
	for _, word := range f.words {
		before := word.String()
		word.SetString("word\x1b[2J")
		read := Read(time.Now, bytes.NewReader(record(t, script{u})))
		must.Be(t, read.All(func(inspect.Update) {}), ErrFormat, word.Type())
		word.SetString(before)
	}
}
