package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

// unpacked returns the files of a bundle by name, decompressed.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	packed := must.Have(os.ReadFile(path))(t)
	files := make(map[string]string)
	r := tar.NewReader(strings.NewReader(gunzip(t, packed)))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		must.Succeed(t, err)
		data, err := io.ReadAll(r)
		if err != nil || h.Mode != 0o600 || filepath.Dir(h.Name) != strings.TrimSuffix(filepath.Base(path), ".tar.gz") {
			t.Errorf("%+v, %v", h, err)
		}
		name := filepath.Base(h.Name)
		if files[name] = string(data); strings.HasSuffix(name, ".gz") {
			files[name] = gunzip(t, data)
		}
	}
}

func gunzip(t *testing.T, packed []byte) string {
	t.Helper()
	r := must.Have(gzip.NewReader(bytes.NewReader(packed)))(t)
	text := must.Have(io.ReadAll(r))(t)
	return string(text)
}
