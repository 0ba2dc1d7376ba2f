package recipe

import "strings"

// redLockNet is RedLock.net (2.3.2): redlock:RESOURCE, by RedisKeyFormat, with Guid.NewGuid of the one lock
// (RedLock.cs, RedLockConnectionProvider.cs). Python's pottery (3.0.0) writes the same under redlock:KEY,
// with uuid4 of the one acquisition (redlock.py): the two cannot be distinguished, and are released alike.
func redLockNet(key, value string) (Token, bool) {
	ok := strings.HasPrefix(key, "redlock:") && isRandomUUID(value)
	return Token{Recipe: "redlock.net", Confidence: Likely}, ok
}
