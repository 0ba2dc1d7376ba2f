package redissource

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// choose picks keys to read that cost no more than room: those in focus, the longest unread first, for three
// quarters of it; those never read and those that should have run out by now; and then the others in turn.
func (b *keyTable) choose(room int, cost func(key string) int, focus map[string]bool, now time.Time) []string {
	var chosen []string
	admitted := map[string]bool{}
	all := room
	admit := func(key string, least int) (more bool) {
		if admitted[key] || b.entries[key] == nil {
			return true
		}
		c := cost(key)
		if room-c < least && (len(chosen) > 0 || room < all) || room <= 0 {
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
	for key, e := range b.entries {
		if room <= 0 {
			break
		}
		if (!e.read || e.due(now)) && !admit(key, 0) {
			break
		}
	}
	b.trim()
	for range len(b.ring) {
		if b.next >= len(b.ring) {
			b.next = 0
		}
		if !admit(b.ring[b.next], 0) {
			break
		}
		b.next++
	}
	return chosen
}
