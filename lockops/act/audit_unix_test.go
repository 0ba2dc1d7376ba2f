//go:build unix

package act

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// Each line is synced, so a file that cannot be synced is refused.
func TestAuditIsSynced(t *testing.T) {
	audit, _ := openAudit(t)
	audit.file.Close()
	// A pipe accepts writes but cannot be synced.
	audit.path = filepath.Join(t.TempDir(), "pipe")
	must.Succeed(t, syscall.Mkfifo(audit.path, 0o600))
	pipe := must.Have(os.OpenFile(audit.path, os.O_RDWR, 0))(t)
	audit.file = pipe
	must.True(t, audit.write(line{Lock: "zk:/a"}) != nil, "no error for a line that could not be synced")
}

func TestForeignAuditFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	must.Succeed(t, os.WriteFile(path, nil, 0o600))
	if err := os.Chown(path, 65534, -1); err != nil {
		t.Skip("only root can give a file away")
	}
	_, err := OpenAudit(time.Now, path, "test", "")
	must.True(t, err != nil && strings.Contains(err.Error(), "another user"), "a file of another user:", err)
}
