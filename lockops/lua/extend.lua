-- Sets a lock's TTL again if it still has our value. A key that is gone stays gone.
-- KEYS: the lock.  ARGV: value, TTL in ms.
-- Returns 1 extended, 0 there is no such key, -1 another client has it.
local held = redis.call('GET', KEYS[1])
if not held then
	return 0
end
if held ~= ARGV[1] then
	return -1
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
