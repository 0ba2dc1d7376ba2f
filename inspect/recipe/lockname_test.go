package recipe

import "testing"

func TestWordsThatNameALock(t *testing.T) {
	for key, want := range map[string]bool{
		"lock": true, "lock:orders": true, "LOCKS/a": true, "orders-mutex": true, "app.semaphore.7": true,
		"lockUser:5": true, "orderLock:42": true, "DistributedLock:Invoice": true, "SINGLETONLOCK_a": true, "ID_LOCK": true,
		"HTTPLock": true, "lock42": true, "orders-lock-7": true, "publicLock": true, "syncLock:a": true, "jobLock": true,
		"joblock:7": true, "lockorder:7": true, "redsync-a": true, "{a}:lock": true, "unlocked-lock": true,
		"block:7": false, "clock": false, "unlock:orders": false, "userUnlock": false, "flock:a": false, "deadLock:a": false,
		"blocks": false, "wallClock": false, "locked:users": false, "login:lockout:7": false, "lockers": false, "a:b": false,
		"blocklist": false, "sherlock": true, "unlocked": false, "": false, "O'Clock": false, "clock7": false,
	} {
		if got := NamesLock(key); got != want {
			t.Errorf("%q names a lock: %v", key, got)
		}
	}
}

func BenchmarkNamesLock(b *testing.B) {
	for b.Loop() {
		NamesLock("app:{eu}:orderLock:42")
		NamesLock("session:1b4e28ba2fa111d2883f0016d3cca427")
	}
}
