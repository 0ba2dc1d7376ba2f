package redisreply

import (
	"strings"
	"testing"
)

func TestRefusalOfEveryRequestHasAdvice(t *testing.T) {
	for text, want := range map[string]string{
		"LOADING Redis is loading the dataset in memory":                                                         "wait until it has finished",
		"master r1:6379: BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.": "let a person decide",
		"master r1:6379: MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":       "link to its master",
		"NOAUTH Authentication required.":                                                                        "LOCKSCOPE_REDIS_PASSWORD",
		"WRONGPASS invalid username-password pair":                                                               "password is wrong",
		"NOPERM this user has no permissions to run 'ping'":                                                      "--access",
		"the connection was refused: NOPERM":                                                                     "--access",
		"ERR max number of clients reached":                                                                      "maxclients",
		"DENIED Redis is running in protected mode because":                                                      "protected mode",
		"CLUSTERDOWN The cluster is down":                                                                        "CLUSTER INFO",
		"connection refused":                                                                                     "",
		"no answer within 1s":                                                                                    "",
		"BUSYKEY Target key name already exists.":                                                                "",
		"ERR unknown command":                                                                                    "",
		"master LOADING:6379: connection refused":                                                                "",
		"dial tcp: lookup r1: no such host":                                                                      "",
	} {
		word, do := Advice(text)
		if !strings.Contains(do, want) || (do == "") != (want == "") || (word == "") != (want == "") {
			t.Errorf("%q: %q, %q", text, word, do)
		}
		if len([]rune(do)) > 110 {
			t.Errorf("%q: %d characters", do, len([]rune(do)))
		}
	}
}
