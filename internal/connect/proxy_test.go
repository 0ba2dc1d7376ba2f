package connect_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/connect"
)

// A proxy such as twemproxy ends the connection at a command that it does not know.
func TestAProxyThatEndsConnectionsIsNamed(t *testing.T) {
	t.Parallel()
	knows := func(replies map[string]string) string {
		return connect.Listen(t, func(c net.Conn) {
			request := make([]byte, 1024)
			for {
				n, err := c.Read(request)
				if err != nil {
					return
				}
				reply := ""
				for command, said := range replies {
					if strings.Contains(string(request[:n]), command) {
						reply = said
					}
				}
				if reply == "" {
					return
				}
				_, _ = io.WriteString(c, reply)
			}
		})
	}
	for name, tt := range map[string]struct {
		replies map[string]string
		proxy   bool
	}{
		"it knows PING":       {map[string]string{"PING": "+PONG\r\n"}, true},
		"it knows only reads": {map[string]string{"GET": "$-1\r\n"}, true},
		"nothing behind it":   {nil, false},
	} {
		addr := knows(tt.replies)
		err := ping(t, addr)
		likely := func() bool { return err != nil && strings.Contains(connect.Reason(err), "most likely a proxy") }
		for tries := 1; tries < 10 && tt.proxy && !likely(); tries++ {
			err = ping(t, addr) // a busy machine may not answer all questions in time
		}
		if likely() != tt.proxy {
			t.Errorf("%s: %v", name, err)
		}
	}
}
