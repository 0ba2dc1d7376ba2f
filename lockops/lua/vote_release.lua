-- Takes a vote back: deletes the lock's key if it still has our value, and wakes who is next if it is told to.
-- KEYS: the lock; its waiters, on the master that orders them.  ARGV: 1 value, 2 to wake: "1" when PUBLISH counts all subscribers.
-- Returns 1 deleted, 2 deleted and somebody waits, 3 deleted and who is next was told, 0 there is no such key, -1 somebody
-- else has it.
local held = redis.call('GET', KEYS[1])
if held ~= ARGV[1] then
	return held and -1 or 0
end
redis.call('DEL', KEYS[1])
if not KEYS[2] then
	return 1
end
if ARGV[2] then
	return wake(KEYS[2], ARGV[2]) == 1 and 3 or 1
end
return redis.pcall('EXISTS', KEYS[2]) == 1 and 2 or 1
