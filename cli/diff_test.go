package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
)

// validate checks a document against a schema of docs.
func validate(t *testing.T, schema, text string) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	s := must.Have(compiler.Compile("../docs/" + schema))(t)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = s.Validate(document)
	}
	if err != nil {
		t.Errorf("%s: %v in %.2000s", schema, err, text)
	}
}

const tour = "../screenshots/tour.jsonl.gz"

func TestDiffOfMoments(t *testing.T) {
	t.Parallel()
	same := run(t, "diff", tour, tour)
	if same.code != 0 || !strings.HasPrefix(same.stdout, "nothing changed from ") {
		t.Errorf("a recording and itself: %+v", same)
	}
	text := run(t, "diff", tour+"@20s", tour)
	if text.code != 0 || !strings.Contains(text.stdout, "\n  acquired  ") || !strings.Contains(text.stdout, "\n  let go    ") || strings.Contains(text.stdout, "\x1b") {
		t.Errorf("from 20 s on: %+v", text)
	}
	json := run(t, "diff", tour+"@20s", tour, "-o", "json")
	validate(t, "diff.schema.json", json.stdout)
	if json.code != 0 || !strings.Contains(json.stdout, `"recording": "`+tour+`@20s"`) {
		t.Errorf("code %d, %s", json.code, json.stderr)
	}
	if got := run(t, "diff", tour+"@0s", tour); got.code != app.ExitUsage || !strings.Contains(got.stderr, "nothing had been seen by then") {
		t.Errorf("from the first moment on: %+v", got)
	}
	at := filepath.Join(t.TempDir(), "a@b.gz") // a name with the sign in it
	recorded := must.Have(os.ReadFile(tour))(t)
	must.Succeed(t, os.WriteFile(at, recorded, 0o600))
	run(t, "diff", at, at+"@5s").wants(t, 0, "", "")
}
