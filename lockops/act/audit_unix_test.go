//go:build unix

package act

import (
	"fmt"
	"os"
	"path/filepath"
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
	must.Equal(t, fmt.Sprint(audit.write(line{Lock: "zk:/a"})), "audit: sync "+audit.path+": invalid argument")
	_, writing := OpenAudit(time.Now, audit.path, "test", "")
	_, reading := ReadTrail(audit.path)
	irregular := "audit: " + audit.path + " is not a regular file"
	must.Equal(t, fmt.Sprint(writing, ", ", reading), irregular+", "+irregular)
}

func TestForeignAuditFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	must.Succeed(t, os.WriteFile(path, nil, 0o600))
	if err := os.Chown(path, 65534, -1); err != nil {
		t.Skip("only root can give a file away")
	}
	_, err := OpenAudit(time.Now, path, "test", "")
	must.Equal(t, fmt.Sprint(err), "audit: "+path+
		" belongs to another user, who could change it (chown it to yourself, or set XDG_STATE_HOME)")
}
