package foreign

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// program is a script in programs and what its first lines say, comments of the form "KEY: VALUE".
type program struct {
	file string // its name in programs
	// packages that it needs, by their source: npm, debian, go.
	packages map[string][]string
	// locks are the real locks in its data: a glob of their paths, and the recipe that may be
	// certain, or none.
	locks map[string]string
	// store that it writes to: redis or zookeeper.
	store string
}

// entry is one line of recorded data: a word for its kind, and its fields.
//
//	string KEY TTL VALUE, list KEY TTL VALUE…, set …, hash KEY TTL FIELD VALUE …, zset KEY TTL MEMBER SCORE …,
//	stream KEY TTL LENGTH FIELD VALUE … (one entry, written LENGTH times); TTL in milliseconds, - for none
//	node PATH SESSION COUNTER DATA: in the order of creation; SESSION 0 owns nothing, container is a container;
//	    COUNTER: how many children were ever created in it
//	watch PATH SESSION
type entry struct {
	kind   string
	fields []string
}

func (e entry) String() string {
	words := []string{e.kind}
	for i, f := range e.fields {
		if plain := e.plain(i) && f != ""; plain {
			words = append(words, f)
		} else {
			words = append(words, strconv.QuoteToASCII(f))
		}
	}
	return strings.Join(words, " ")
}

// plain reports whether a field is a number or a word of ours.
func (e entry) plain(i int) bool {
	return i == 1 || i == 2 && (e.kind == "node" || e.kind == "stream")
}

func parseEntry(line string) (entry, error) {
	kind, rest, _ := strings.Cut(line, " ")
	e := entry{kind: kind}
	for rest != "" {
		var field string
		if rest[0] == '"' {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return e, fmt.Errorf("%s: %w", line, err)
			}
			if field, err = strconv.Unquote(quoted); err != nil {
				return e, fmt.Errorf("%s: %w", line, err)
			}
			rest = rest[len(quoted):]
		} else {
			field, _, _ = strings.Cut(rest, " ")
			rest = rest[len(field):]
		}
		e.fields = append(e.fields, field)
		rest = strings.TrimPrefix(rest, " ")
	}
	return e, nil
}

// instant is a number that may be an instant, in seconds or milliseconds since 1970.
var instant = regexp.MustCompile(`\b\d{10}(\d{3})?\b`)

// moved shifts the times in a text from around then to around now.
func moved(text string, then, now time.Time) string {
	return instant.ReplaceAllStringFunc(text, func(digits string) string {
		n, _ := strconv.ParseInt(digits, 10, 64)
		unit := time.Second
		if len(digits) > 10 {
			unit = time.Millisecond
		}
		at := time.UnixMilli(n * unit.Milliseconds())
		if at.Sub(then).Abs() > 30*24*time.Hour {
			return digits
		}
		return strconv.FormatInt(n+int64(now.Sub(then)/unit), 10)
	})
}

// load reads what a program wrote, as if it had written it just now.
func load(t *testing.T, p program) []entry {
	t.Helper()
	text := must.Have(os.ReadFile(filepath.Join("programs", p.file+".data")))(t)
	var entries []entry
	var then time.Time
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		e := must.Have(parseEntry(line))(t)
		if e.kind == "at" {
			ms, _ := strconv.ParseInt(e.fields[0], 10, 64)
			then = time.UnixMilli(ms)
			continue
		}
		for i, f := range e.fields {
			if p.store == "redis" {
				e.fields[i] = moved(f, then, time.Now())
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// programs returns the programs that write to a store.
func programs(t *testing.T, store string) []program {
	t.Helper()
	files := must.Have(filepath.Glob(filepath.Join("programs", "*.data")))(t)
	var all []program
	for _, f := range files {
		if p := readProgram(t, strings.TrimSuffix(filepath.Base(f), ".data")); p.store == store {
			all = append(all, p)
		}
	}
	return all
}

// readProgram reads the comments of a program's file.
func readProgram(t *testing.T, file string) program {
	t.Helper()
	p := program{file: file, packages: map[string][]string{}, locks: map[string]string{}, store: "redis"}
	f := must.Have(os.Open(filepath.Join("programs", file)))(t)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		comment := strings.TrimLeft(lines.Text(), "/#<?ph ")
		key, value, ok := strings.Cut(comment, ": ")
		if len(comment) == len(lines.Text()) && comment != "" {
			break
		}
		words := strings.Fields(value)
		switch {
		case !ok || len(words) == 0:
		case key == "npm" || key == "debian" || key == "go":
			p.packages[key] = words
		case key == "store":
			p.store = words[0]
		case key == "lock":
			p.locks[words[0]] = strings.Join(words[1:], "")
		}
	}
	return p
}

// lock finds the glob of a path that is a lock; a star matches anything.
func (p program) lock(name string) (glob string, ok bool) {
	for glob := range p.locks {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(glob), `\*`, `.*`)
		if match, _ := regexp.MatchString("^"+pattern+"$", name); match {
			return glob, true
		}
	}
	return "", false
}
