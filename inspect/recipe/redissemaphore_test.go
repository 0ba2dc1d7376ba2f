package recipe

import (
	"math"
	"slices"
	"testing"
	"time"
)

// semaphoreAt is when the values below were read from a server with redis-semaphore 5.8.0.
var semaphoreAt = time.UnixMilli(1795317377191)

func semaphoreOf(key string, left time.Duration, items ...Item) Keys {
	return Keys{Key: key, Now: semaphoreAt, Main: Value{Type: TypeZSet, Items: items, ExpiresAt: semaphoreAt.Add(left)}}
}

func TestRedisSemaphoreMatchesItsLibrary(t *testing.T) {
	const first, second, multi = "7dd7f252-09fb-457b-b7fc-e3cec8cc06f3", "09e0e374-abc9-4731-a8d3-df4b2fdc7104", "e4382e21-77b5-40f6-8ea6-c1846d551044"
	for _, tt := range []struct {
		name       string
		keys       Keys
		confidence Confidence
		claims     []Claim
	}{
		{
			"two of three permits", semaphoreOf("semaphore:gate", 59984*time.Millisecond, Item{Name: first, Score: 1795317377157}, Item{Name: second, Score: 1795317377159}), Likely,
			[]Claim{
				{Name: first, LibraryID: first, ExpiresAt: semaphoreAt.Add(59982 * time.Millisecond)},
				{Name: second, LibraryID: second, ExpiresAt: semaphoreAt.Add(59984 * time.Millisecond)},
			},
		},
		{
			"a custom identifier", semaphoreOf("semaphore:own-id", 59983*time.Millisecond, Item{Name: "worker-7", Score: 1795317377160}), Possible,
			[]Claim{{Name: "worker-7", Label: "worker-7", ExpiresAt: semaphoreAt.Add(59983 * time.Millisecond)}},
		},
		{
			"two permits at once", semaphoreOf("semaphore:lanes", 59984*time.Millisecond, Item{Name: multi + "_0", Score: 1795317377161}, Item{Name: multi + "_1", Score: 1795317377161}), Likely,
			[]Claim{
				{Name: multi + "_0", LibraryID: multi, ExpiresAt: semaphoreAt.Add(59984 * time.Millisecond)},
				{Name: multi + "_1", LibraryID: multi, ExpiresAt: semaphoreAt.Add(59984 * time.Millisecond)},
			},
		},
		{
			"a suffix", semaphoreOf("semaphore:gate", time.Second, Item{Name: first + "-batch_7", Score: 1795317377160}), Likely,
			[]Claim{{Name: first + "-batch_7", LibraryID: first + "-batch_7", Label: "batch_7", ExpiresAt: semaphoreAt.Add(time.Second)}},
		},
		{
			"an expired permit", semaphoreOf("semaphore:gate", time.Second, Item{Name: first, Score: 1795317376160}, Item{Name: second, Score: 1795317377160}), Likely,
			[]Claim{{Name: second, LibraryID: second, ExpiresAt: semaphoreAt.Add(time.Second)}},
		},
		{
			"identifiers that end in numbers", semaphoreOf("semaphore:gate", time.Second, Item{Name: "w_0", Score: 1795317377160}, Item{Name: "w_1", Score: 1795317377161}), Possible,
			[]Claim{
				{Name: "w_0", Label: "w_0", ExpiresAt: semaphoreAt.Add(999 * time.Millisecond)},
				{Name: "w_1", Label: "w_1", ExpiresAt: semaphoreAt.Add(time.Second)},
			},
		},
		{
			"a custom identifier with two permits", semaphoreOf("semaphore:gate", time.Second, Item{Name: "w_0", Score: 1795317377160}, Item{Name: "w_1", Score: 1795317377160}), Possible,
			[]Claim{
				{Name: "w_0", Label: "w", ExpiresAt: semaphoreAt.Add(time.Second)},
				{Name: "w_1", Label: "w", ExpiresAt: semaphoreAt.Add(time.Second)},
			},
		},
	} {
		r, ok := DecodeKeys(tt.keys)
		if !ok || r.Recipe != "redis-semaphore" || r.Kind != "semaphore" || r.Limit != 0 || r.Confidence != tt.confidence || !slices.Equal(r.Claims, tt.claims) {
			t.Errorf("%s: %v %+v", tt.name, ok, r)
		}
	}
	// If PTTL is denied, the expiry is unknown.
	unseen := semaphoreOf("semaphore:gate", 0, Item{Name: first, Score: 1795317377157})
	unseen.Main.ExpiresAt = time.Time{}
	if r, ok := DecodeKeys(unseen); !ok || len(r.Claims) != 1 || !r.Claims[0].ExpiresAt.IsZero() || r.Claims[0].NoExpiry {
		t.Errorf("%v %+v", ok, r)
	}
}

// Other programs use sorted sets under the same prefix.
func TestOtherSortedSetsAreNotSemaphores(t *testing.T) {
	never := semaphoreOf("semaphore:a", 0, Item{Name: uuid, Score: 1795317377160})
	never.Main.NoExpiry, never.Main.ExpiresAt = true, time.Time{}
	for name, k := range map[string]Keys{
		"no TTL":                         never,
		"another prefix":                 semaphoreOf("jobs:a", time.Minute, Item{Name: uuid, Score: 1795317377160}),
		"seconds, as in Redis in Action": semaphoreOf("semaphore:remote", time.Minute, Item{Name: uuid, Score: 1795317377}),
		"fractions":                      semaphoreOf("semaphore:a", time.Minute, Item{Name: uuid, Score: 1795317377160.5}),
		"jobs due in an hour":            semaphoreOf("semaphore:a", time.Minute, Item{Name: uuid, Score: 1795317377160 + 3600000}),
		"a ranking":                      semaphoreOf("semaphore:a", time.Minute, Item{Name: uuid, Score: 1795317377160}, Item{Name: uuidB, Score: 12}),
		"infinity":                       semaphoreOf("semaphore:a", time.Minute, Item{Name: uuid, Score: math.Inf(1)}),
	} {
		if r, ok := DecodeKeys(k); ok {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
