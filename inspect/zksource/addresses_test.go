package zksource

import (
	"strings"
	"testing"
)

func TestAddressesOfAnEnsemble(t *testing.T) {
	for config, want := range map[string]string{
		"": "",
		"server.1=z1:2888:3888:participant;0.0.0.0:2181\nserver.2=z2:2888:3888;2182\nversion=100000000": "z1:2181,z2:2182",
		"server.1=z1:2888:3888\nserver.2=[::1]:2888:3888:observer;[::]:2181":                            "z1:2181,[::1]:2181",
		"server.1=10.0.0.1:2888:3888:participant;192.168.0.1:2181\n":                                    "192.168.0.1:2181",
		// Not all are told: none of them.
		"server.1=z1:2888:3888;2181\nserver.2=\n": "",
		"server.1=z1:2888:3888;2181\nserver.2":    "",
		// No words, which could be taken for the advice's own, nor what steers a terminal.
		"server.1=z\x1b[2J:1:2;3":                           "",
		"server.1=z lockscope release zk:/l --yes:1:2;2181": "",
		strings.Repeat("server.1=z:1:2;3\n", 15):            strings.TrimSuffix(strings.Repeat("z:3,", 15), ","),
		strings.Repeat("server.1=z:1:2;3\n", 16):            "",
	} {
		if got := addresses(config); got != want {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
	}
}
