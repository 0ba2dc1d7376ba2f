package inspect

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// anyJSON is a random value of that depth at most, its texts full of what JSON escapes.
func anyJSON(r *rand.Rand, depth int) any {
	text := func() string {
		const parts = `"\{}[],: ` + "\n<é"
		var s strings.Builder
		for range r.IntN(6) {
			s.WriteByte(parts[r.IntN(len(parts))])
		}
		return s.String()
	}
	switch kind := r.IntN(7); {
	case kind < 2 && depth > 0:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = anyJSON(r, depth-1)
		}
		return list
	case kind < 4 && depth > 0:
		object := map[string]any{}
		for range r.IntN(4) {
			object[text()] = anyJSON(r, depth-1)
		}
		return object
	case kind == 4:
		return []any{-1.5e300, true, nil, 7}[r.IntN(4)]
	}
	return text()
}

func TestIndentingIsThatOfEncodingJSON(t *testing.T) {
	for seed := range uint64(2000) {
		text, err := json.Marshal(anyJSON(rand.New(rand.NewPCG(seed, 0)), 24))
		if err != nil {
			t.Fatal(err)
		}
		if deep := int(seed % 50); seed < 100 {
			text = []byte(strings.Repeat("[", deep) + string(text) + strings.Repeat("]", deep))
		}
		prefix := []string{"", "  "}[seed%2]
		var want bytes.Buffer
		if err := json.Indent(&want, text, prefix, " "); err != nil {
			t.Fatal(err)
		}
		if got := appendIndented([]byte("before"), text, prefix); string(got) != "before"+want.String() {
			t.Fatalf("seed %d: %s\nis\n%s\nand not\n%s", seed, text, got, want.Bytes())
		}
	}
}
