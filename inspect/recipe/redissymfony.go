package recipe

import "encoding/base64"

// redisSymfony is Symfony Lock's RedisStore since 5.2: a sorted set of tokens with their expiries
// in milliseconds by the server's clock. It has the member __write__ while one of them is
// exclusive. Expired members stay until the next call and do not count.
func redisSymfony() Shape {
	return Shape{Name: "symfony", Decode: redisSymfonyDecode}
}

// SymfonyWrite is the member that makes a Symfony lock exclusive.
const SymfonyWrite = "__write__"

func redisSymfonyDecode(k Keys) (Record, bool) {
	if k.Main.Type != TypeZSet || len(k.Main.Items) == 0 {
		return Record{}, false
	}
	mode, tokens := Shared, 0
	for _, m := range k.Main.Items {
		if m.Score < 1e12 || m.Name != SymfonyWrite && !symfonyToken(m.Name) {
			return Record{}, false
		}
		if m.Name != SymfonyWrite {
			tokens++
		} else if k.local(m.Score).After(k.Now) {
			mode = Exclusive
		}
	}
	r := Record{Recipe: "symfony", Confidence: symfonySure(k), Kind: "mutex"}
	for _, m := range k.Main.Items {
		if end := k.local(m.Score); m.Name != SymfonyWrite && end.After(k.Now) {
			r.Claims = append(r.Claims, Claim{Name: m.Name, Mode: mode, ExpiresAt: end})
			if mode == Shared {
				r.Kind = "rw"
			}
		}
	}
	return r, tokens > 0
}

// symfonySure grades a sorted set of tokens with their expiries. Registers of sessions and of
// unconfirmed e-mails have the same form, and only the member __write__ is Symfony's own. Without
// it, the lock is likely if the key expires with its last member (PEXPIREAT) and its name says that
// it is a lock.
func symfonySure(k Keys) Confidence {
	last := k.Main.Items[0].Score
	for _, m := range k.Main.Items {
		if last = max(last, m.Score); m.Name == SymfonyWrite {
			return Certain
		}
	}
	ends := k.Main.ExpiresAt.Sub(k.local(last)).Abs() < clockSlack || k.Main.ExpiresAt.IsZero() && !k.Main.NoExpiry
	if ends && NamesLock(k.Key) {
		return Likely
	}
	return Possible
}

// symfonyToken is standard base64 of 32 random bytes.
func symfonyToken(s string) bool {
	return len(s) == 44 && s[43] == '=' && isBase64(base64.StdEncoding, s, 32)
}
