-- Takes a lock unless somebody has it.
-- KEYS: the lock; optionally its fencing counter.  ARGV: value, TTL in ms, time limit in µs of this server's clock.
-- Returns {verdict, detail, seconds, microseconds}: verdict 1 taken (detail: fencing token, 0 without a counter),
-- 0 held (detail: the holder's TTL in ms, -1 for none), -1 too late: the limit has passed, nothing was done.
local now = redis.call('TIME')
if tonumber(now[1]) * 1000000 + tonumber(now[2]) > tonumber(ARGV[3]) then
	return {-1, 0, now[1], now[2]}
end
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] then -- ours: the reply to an earlier attempt was lost
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return {1, KEYS[2] and redis.call('GET', KEYS[2]) or 0, now[1], now[2]}
end
if held then
	return {0, redis.call('PTTL', KEYS[1]), now[1], now[2]}
end
local token = KEYS[2] and redis.call('INCR', KEYS[2]) or 0
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
return {1, token, now[1], now[2]}
