package redissource

import (
	"container/heap"
	"time"
)

// agenda says at which instant each key is due. It knows no clock.
type agenda struct {
	heap appointments
	at   map[string]time.Time
}

type appointment struct {
	key string
	at  time.Time
}

// set makes a key due at an instant, unless it is due sooner.
func (a *agenda) set(key string, at time.Time) {
	if was, ok := a.at[key]; ok && !at.Before(was) {
		return
	}
	if a.at == nil {
		a.at = map[string]time.Time{}
	}
	a.at[key] = at
	heap.Push(&a.heap, appointment{key, at})
}

// next is when the first key is due; false when none is.
func (a *agenda) next() (time.Time, bool) {
	for len(a.heap) > 0 {
		first := a.heap[0]
		if at, ok := a.at[first.key]; ok && at.Equal(first.at) {
			return first.at, true
		}
		heap.Pop(&a.heap) // it became due sooner
	}
	return time.Time{}, false
}

// due takes out the keys that are due.
func (a *agenda) due(now time.Time) []string {
	var keys []string
	for at, ok := a.next(); ok && !at.After(now); at, ok = a.next() {
		key := heap.Pop(&a.heap).(appointment).key
		delete(a.at, key)
		keys = append(keys, key)
	}
	return keys
}

// clear takes out all.
func (a *agenda) clear() { *a = agenda{} }

// appointments is a heap, the earliest on top.
type appointments []appointment

func (h appointments) Len() int           { return len(h) }
func (h appointments) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h appointments) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *appointments) Push(x any)        { *h = append(*h, x.(appointment)) }
func (h *appointments) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
