-- Takes a vote back: deletes the lock's key if it still has our value.
-- KEYS: the lock; its waiters, on the master that orders them.  ARGV: value.
-- Returns 1 deleted, 2 deleted and it has waiters, 0 there is no such key, -1 another client has it.
local held = redis.call('GET', KEYS[1])
if held ~= ARGV[1] then
	return held and -1 or 0
end
redis.call('DEL', KEYS[1])
return KEYS[2] and redis.pcall('EXISTS', KEYS[2]) == 1 and 2 or 1
