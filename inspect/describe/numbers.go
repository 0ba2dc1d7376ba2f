package describe

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
)

// Sentence starts with a capital letter, unless its first word may be a name.
func Sentence(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if word == "zookeeper" {
		return "ZooKeeper" + text[len(word):]
	}
	if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Thousands formats a number with commas.
func Thousands(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func Millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}

// Load returns our requests per second. Each command of a pipeline counts, since it costs the
// server as much as one alone.
func Load(c inspect.Cost) float64 { return c.PerSecond }

func PerSecond(rate float64) string {
	if rate > 0 && rate < 10 {
		return fmt.Sprintf("%.1f/s", rate)
	}
	return fmt.Sprintf("%.0f/s", rate)
}

func Times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}
