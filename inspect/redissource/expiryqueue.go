package redissource

import (
	"container/heap"
	"maps"
	"time"
)

// expiryQueue orders keys by the time at which they are due. It does not read the clock.
type expiryQueue struct {
	heap dueKeys
	at   map[string]time.Time
}

type dueKey struct {
	key string
	at  time.Time
}

// set makes a key due at that time, unless it is due earlier.
func (a *expiryQueue) set(key string, at time.Time) {
	if was, ok := a.at[key]; ok && !at.Before(was) {
		return
	}
	if a.at == nil {
		a.at = map[string]time.Time{}
	}
	a.at[key] = at
	heap.Push(&a.heap, dueKey{key, at})
}

// next returns the earliest deadline; false if none.
func (a *expiryQueue) next() (time.Time, bool) {
	for len(a.heap) > 0 {
		first := a.heap[0]
		if at, ok := a.at[first.key]; ok && at.Equal(first.at) {
			return first.at, true
		}
		heap.Pop(&a.heap) // it became due sooner
	}
	return time.Time{}, false
}

// due removes and returns the keys that are due.
func (a *expiryQueue) due(now time.Time) []string {
	var keys []string
	for at, ok := a.next(); ok && !at.After(now); at, ok = a.next() {
		key := heap.Pop(&a.heap).(dueKey).key
		delete(a.at, key)
		keys = append(keys, key)
	}
	return keys
}

// trim drops superseded deadlines and those of unknown keys once they far outnumber known keys.
// Otherwise, deleted keys with a distant expiry would pile up.
func (a *expiryQueue) trim(known map[string]*entry) {
	if len(a.heap) <= 4*len(known)+64 {
		return
	}
	maps.DeleteFunc(a.at, func(key string, _ time.Time) bool { return known[key] == nil })
	a.heap = make(dueKeys, 0, len(a.at))
	for key, at := range a.at {
		a.heap = append(a.heap, dueKey{key, at})
	}
	heap.Init(&a.heap)
}

func (a *expiryQueue) clear() { *a = expiryQueue{} }

// dueKeys is a heap with the earliest deadline on top.
type dueKeys []dueKey

func (h dueKeys) Len() int           { return len(h) }
func (h dueKeys) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueKeys) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueKeys) Push(x any)        { *h = append(*h, x.(dueKey)) }
func (h *dueKeys) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
