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

// StartBalancer starts one address for several servers; pick says which of them the nth connection to it reaches.
func StartBalancer(t testing.TB, pick func(n int) string) string {
	t.Helper()
	return startFront(t, func(n int, client net.Conn) {
		relay(client, pick(n), func([]byte) bool { return true })
	})
}

// StartTwemproxy starts a proxy before a Redis server that, as twemproxy does, knows commands on keys only, and ends
// the connection at any other.
func StartTwemproxy(t testing.TB, addr string) string {
	t.Helper()
	return startFront(t, func(_ int, client net.Conn) {
		relay(client, addr, func(requests []byte) bool {
			requests = bytes.ToLower(requests)
			for _, refused := range []string{"hello", "client", "info", "role", "scan", "select", "time"} {
				if bytes.Contains(requests, []byte("\r\n"+refused+"\r\n")) {
					return false
				}
			}
			return true
		})
	})
}

// StartFakeSentinel starts a sentinel that names one master, whatever it is asked.
func StartFakeSentinel(t testing.TB, master string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(master)
	check(t, err)
	return startFront(t, func(_ int, client net.Conn) {
		defer client.Close()
		for in := bufio.NewScanner(client); in.Scan(); {
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
			if _, err := io.WriteString(client, reply); err != nil {
				return
			}
		}
	})
}

// startFront listens until the test ends, and serves each connection separately.
func startFront(t testing.TB, serve func(n int, client net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for n := 0; ; n++ {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(n, client)
		}
	}()
	return listener.Addr().String()
}

// relay connects a client with a server, until one of them leaves or the client's requests are not allowed.
func relay(client net.Conn, addr string, allowed func(requests []byte) bool) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	defer server.Close()
	requests := make([]byte, 1<<16)
	for {
		n, err := client.Read(requests)
		if err != nil || !allowed(requests[:n]) {
			return
		}
		if _, err := server.Write(requests[:n]); err != nil {
			return
		}
	}
}
