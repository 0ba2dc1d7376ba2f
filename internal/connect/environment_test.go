package connect

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// Child processes get none of our secrets, even if Windows has their names in another case.
func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "LOCKSCOPE_LOCK=zk:/a"}
	for _, name := range SecretVariables() {
		environ = append(environ, name+"=x", strings.ToLower(name)+"=x", "Lockscope"+strings.TrimPrefix(name, "LOCKSCOPE")+"=x")
	}
	must.Same(t, WithoutSecrets(environ), []string{"PATH=/bin", "LOCKSCOPE_LOCK=zk:/a"})
}
