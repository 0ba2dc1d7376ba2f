package redissource

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// choose picks keys to read again: at least one, with a total cost of at most room if possible.
// Keys in focus get three quarters, the longest unread first; the rest goes to all keys in turn.
func (b *keyTable) choose(room int, cost func(key string) int, focus map[string]bool) []string {
	var chosen []string
	admitted := map[string]bool{}
	// admit adds a key if there is room for it, keeping left in reserve.
	admit := func(key string, left int) bool {
		if admitted[key] || b.entries[key] == nil {
			return true
		}
		c := cost(key)
		if room-c < left && len(chosen) > 0 {
			return false
		}
		admitted[key] = true
		chosen, room = append(chosen, key), room-c
		return true
	}
	focused := slices.DeleteFunc(slices.Collect(maps.Keys(focus)), func(key string) bool { return b.entries[key] == nil })
	slices.SortFunc(focused, func(x, y string) int {
		return cmp.Or(b.entries[x].readAt.Compare(b.entries[y].readAt), strings.Compare(x, y))
	})
	rest := 0
	if len(b.entries) > len(focused) {
		rest = room / 4
	}
	for _, key := range focused {
		if !admit(key, rest) {
			break
		}
	}
	b.trim()
	for range len(b.ring) {
		b.next %= len(b.ring)
		if !admit(b.ring[b.next], 0) {
			break
		}
		b.next++
	}
	return chosen
}
