package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockscope/lockscope/internal/must"
)

type event struct {
	Event, At, Lock string
	Contender       *contender
	From            *string
	Finding         *struct{ Rule string }
	Backend         *struct{ Name, State string }
}

// checkEvent checks a line of watch against the schema.
func checkEvent(t *testing.T, line string) event {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema := must.Have(compiler.Compile("../docs/event.schema.json"))(t)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("does not match the contract's schema: %v\n%s", err, line)
	}
	var e event
	must.Succeed(t, json.Unmarshal([]byte(line), &e))
	return e
}
