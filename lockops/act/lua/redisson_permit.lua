-- Gives the permit ARGV[1] of the Redisson semaphore KEYS[1] back, if its timeout is still in KEYS[2], and tells channel
-- ARGV[2] how many are free.
if look('ZREM', KEYS[2], ARGV[1]) ~= 1 then
  return 0
end
local free = call('INCRBY', KEYS[1], 1)
wake(ARGV[2], free)
return 1
