package servertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
)

func TestMain(m *testing.M) { Main(m) }

func word(t *testing.T, addr, w string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, w)
	text, err := io.ReadAll(bufio.NewReader(conn))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
