-- Takes the waiter ARGV[1] out of the fair queue KEYS[2] and its timeouts KEYS[3]; when it was the next in turn for the
-- lock KEYS[1], and that is free, the one behind it is told on its own channel below ARGV[2].
local head = look('LINDEX', KEYS[2], 0)
if look('LREM', KEYS[2], 0, ARGV[1]) ~= 1 then
  return 0
end
redis.pcall('ZREM', KEYS[3], ARGV[1])
local nextUp = redis.pcall('LINDEX', KEYS[2], 0)
if head == ARGV[1] and type(nextUp) == 'string' and redis.pcall('EXISTS', KEYS[1]) == 0 then
  wake(ARGV[2] .. ':' .. nextUp, '0')
end
return 1
