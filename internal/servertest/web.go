package servertest

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
)

// StartWeb starts a program that serves HTTP, with the arguments for a free loopback address, in a directory of its
// own. It returns the address once path answers with 200. The program ends with the test.
func StartWeb(t testing.TB, program, path string, args func(addr string) []string) string {
	t.Helper()
	var failed error
	for range startTries {
		port, err := freePort()
		check(t, err)
		addr := loopback(port)
		p, err := startProcess(t.TempDir(), program, args(addr)...)
		check(t, err)
		t.Cleanup(p.stop)
		if failed = p.awaitReady(func() error { return answers("http://" + addr + path) }); failed == nil {
			return addr
		}
	}
	t.Fatal(failed)
	return ""
}

func answers(url string) error {
	resp, err := http.Get(url)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, resp.Status)
	}
	return errors.Join(err, resp.Body.Close())
}
