package app

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// The extension of FILE decides. Without one, pipes and other irregular files get text.
func TestExtensionChoosesRecordingCompression(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ regular, packed bool }{
		"night": {regular: true, packed: true}, "night.zst": {regular: true, packed: true}, "night.jsonl.zst": {packed: true},
		"night.2026-01-02": {regular: true, packed: true}, "night.jsonl": {regular: true}, "night.JSONL": {regular: true}, "night.ZST": {packed: true}, "night.json": {regular: true}, "night.ndjson": {regular: true},
		"/dev/stdout": {},
	} {
		var file bytes.Buffer
		to := must.Have(Packed(name, tt.regular, &file))(t)
		io.WriteString(to, "{}\n")
		to.Close()
		must.Equal(t, !strings.HasPrefix(file.String(), "{}"), tt.packed, name, "packed")
	}
}
