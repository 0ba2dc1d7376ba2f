package servertest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// StartBalancer starts one address for several servers; pick chooses the server for the nth
// connection.
func StartBalancer(t testing.TB, pick func(n int) string) string {
	t.Helper()
	return startLiar(t, pick, func(int, []byte, io.Writer) bool { return false }, passOn).Addr
}

// StartTwemproxy starts a proxy in front of a Redis server. Like twemproxy, it knows only commands
// on keys, and closes the connection on any other.
func StartTwemproxy(t testing.TB, addr string) string {
	t.Helper()
	return StartLiar(t, addr, func(_ int, requests []byte, client io.Writer) bool {
		requests = bytes.ToLower(requests)
		for _, refused := range []string{"hello", "client", "info", "role", "scan", "select", "time"} {
			if bytes.Contains(requests, []byte("\r\n"+refused+"\r\n")) {
				client.(io.Closer).Close()
				return true
			}
		}
		return false
	}).Addr
}

// StartFakeSentinel starts a sentinel that answers every question with one master.
func StartFakeSentinel(t testing.TB, master string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(master)
	check(t, err)
	return StartLiar(t, master, func(_ int, requests []byte, client io.Writer) bool {
		for in := bufio.NewScanner(bytes.NewReader(requests)); in.Scan(); {
			var parts int
			if _, err := fmt.Sscanf(in.Text(), "*%d", &parts); err != nil {
				continue
			}
			command := ""
			for i := range parts {
				in.Scan() // its length
				in.Scan()
				if i == 0 {
					command = strings.ToLower(in.Text())
				}
			}
			reply := "-ERR unknown command\r\n"
			if command == "sentinel" {
				reply = fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(host), host, len(port), port)
			}
			_, _ = io.WriteString(client, reply) // a client that is gone needs no reply
		}
		return true
	}).Addr
}
