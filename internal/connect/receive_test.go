package connect

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestMalformedMessagesAreErrors(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"*3\r\n$7\r\nmessage\r\n*0\r\n$1\r\nx\r\n", "*3\r\n:1\r\n$1\r\nc\r\n$1\r\nx\r\n", "*1\r\n$7\r\nmessage\r\n", "*0\r\n",
		"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n$1\r\nx\r\n",
	} {
		addr := listen(t, func(c net.Conn) {
			request := make([]byte, 4096)
			for {
				n, err := c.Read(request)
				if err != nil {
					return
				}
				reply := "-ERR unknown command\r\n"
				if bytes.Contains(request[:n], []byte("subscribe")) {
					reply = message
				}
				_, _ = io.WriteString(c, reply)
			}
		})
		client := redis.NewClient(&redis.Options{Addr: addr, DisableIdentity: true})
		subscription := client.Subscribe(t.Context(), "c")
		if got, err := Receive(t.Context(), subscription, 30*time.Second); err == nil {
			t.Errorf("%q: %v", message, got)
		}
		subscription.Close()
		client.Close()
	}
}
