-- Takes the waiter ARGV[1] out of the fair queue KEYS[2] and its timeouts KEYS[3]; when it was the next in turn for the
-- lock KEYS[1], and that is free, the one behind it is told on its own channel below ARGV[2].
local head = redis.call('LINDEX', KEYS[2], 0)
if redis.call('LREM', KEYS[2], 0, ARGV[1]) == 0 then
  return 0
end
redis.call('ZREM', KEYS[3], ARGV[1])
local nextUp = redis.call('LINDEX', KEYS[2], 0)
if head == ARGV[1] and nextUp and redis.call('EXISTS', KEYS[1]) == 0 then
  redis.call('PUBLISH', ARGV[2] .. ':' .. nextUp, '0')
  redis.pcall('SPUBLISH', ARGV[2] .. ':' .. nextUp, '0') -- since Redis 7
end
return 1
