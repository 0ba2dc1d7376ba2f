package recipe

import (
	"fmt"
	"testing"
)

// mixed returns keys and values of libraries, of hand-made locks, and of other data.
func mixed() [][2]string {
	forms := [][2]string{
		{"lock:%d", uuid1},
		{"lock:%d", guid},
		{"lock:%d", uuid},
		{"order-lock-%d", base16},
		{"orders:%d:lock", uuid + ":12"},
		{"bull:mail:%d:lock", uuid + ":12"},
		{"job-lock:default:%d", "ADDED:2026-11-21T09:00:00.123Z@batch-7:" + uuid},
		{"lock:%d", base18},
		{"lock:%d", base32},
		{"laravel-cache-lock:%d", "aB3dE6gH9jK2mN5p"},
		{"lock:%d", "1"},
		{"app:lock:%d", "web-1:2817"},
		{"lock:%d", url16},
		{"lock:%d", machine},
		{"user:%d:locked", "true"},
		{"clock:%d", "1763715600"},
		{"block:%d", `{"id":7,"name":"a block of some length","flags":["a","b"]}`},
		{"my-lock:%d", uuidV1},
		{"mutex:%d", uuid},
		{"redlock:%d", uuid},
	}
	var all [][2]string
	for i := range 1000 {
		f := forms[i%len(forms)]
		all = append(all, [2]string{fmt.Sprintf(f[0], i), f[1]})
	}
	return all
}

func BenchmarkDecodeToken(b *testing.B) {
	all := mixed()
	DecodeToken("", "")
	for b.Loop() {
		for _, kv := range all {
			DecodeToken(kv[0], kv[1])
		}
	}
}
