-- Deletes a lock if it still has our value, and wakes who waits for it.
-- KEYS: the lock.  ARGV: value, wake-up channel ('' for none).
-- Returns 1 deleted, 0 there is no such key, -1 somebody else has it.
local held = redis.call('GET', KEYS[1])
if not held then
	return 0
end
if held ~= ARGV[1] then
	return -1
end
redis.call('DEL', KEYS[1])
if ARGV[2] ~= '' then
	redis.pcall('PUBLISH', ARGV[2], '') -- a denied channel must not turn a release into an error
end
return 1
