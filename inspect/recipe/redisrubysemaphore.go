package recipe

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rubySemaphoreName is Ruby's gem redis-semaphore; npm has another library of that name.
const rubySemaphoreName = "redis-semaphore-ruby"

// The keys of one of its semaphores, behind SEMAPHORE:NAME (NAME alone in a Redis::Namespace).
const (
	rubyExists    = ":EXISTS"
	rubyVersion   = ":VERSION"
	rubyAvailable = ":AVAILABLE"
	rubyGrabbed   = ":GRABBED"
)

// rubySemaphore is the gem redis-semaphore (0.3.1). A semaphore is a list of free tokens, :AVAILABLE, and a hash of
// taken ones, :GRABBED, with the second of taking each. :EXISTS and :VERSION hold 1 while it exists. A token is a
// number of the permit, not the name of who took it. Waiters block on the list (BLPOP), which nothing records
// (lib/redis/semaphore.rb).
func rubySemaphore() Shape {
	return Shape{
		Name: rubySemaphoreName, Clients: []string{"redis-rb"}, Patterns: []string{"*" + rubyGrabbed},
		LockOf: rubySemaphoreOf, Queries: rubySemaphoreQueries, Decode: rubySemaphoreDecode,
	}
}

func rubySemaphoreOf(key string) ([]string, bool) {
	for _, suffix := range []string{rubyExists, rubyVersion, rubyAvailable, rubyGrabbed} {
		if name, ok := strings.CutSuffix(key, suffix); ok && name != "" {
			return []string{name}, true
		}
	}
	return nil, false
}

func rubySemaphoreQueries(k Keys) []Query {
	if !k.may(rubySemaphoreName) || k.Main.Type != TypeNone || k.Main.Unknown {
		return nil
	}
	return []Query{
		{k.Key + rubyExists, TypeString, Holders},
		{k.Key + rubyGrabbed, TypeHash, Holders},
		{k.Key + rubyAvailable, TypeList, Limit},
	}
}

func rubySemaphoreDecode(k Keys) (Record, bool) {
	exists, grabbed, free := k.Auxiliary[k.Key+rubyExists], k.Auxiliary[k.Key+rubyGrabbed], k.Auxiliary[k.Key+rubyAvailable]
	taken := grabbed.Type == TypeHash
	if k.Main.Type != TypeNone || k.Main.Unknown || exists.Type != TypeString || exists.Text != "1" ||
		!taken && free.Type != TypeList {
		return Record{}, false
	}
	r := Record{Recipe: rubySemaphoreName, Confidence: Likely, Kind: "semaphore", Opaque: grabbed.Unknown}
	for _, token := range grabbed.Items {
		seconds, err := strconv.ParseFloat(token.Text, 64)
		if err != nil || seconds < 1e9 || seconds > 1e10 {
			return Record{}, false
		}
		whole, part := math.Modf(seconds)
		since := time.Unix(int64(whole), int64(part*1e9)).UTC()
		r.Claims = append(r.Claims, Claim{Name: token.Name, Since: since, ExpiresAt: grabbed.ExpiresAt})
	}
	slices.SortStableFunc(r.Claims, func(a, b Claim) int { return a.Since.Compare(b.Since) })
	if !grabbed.More && !free.More && !free.Unknown && !grabbed.Unknown {
		r.Limit = len(grabbed.Items) + len(free.Items)
	}
	return r, true
}
