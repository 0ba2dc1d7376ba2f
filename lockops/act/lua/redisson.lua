-- Deletes a Redisson lock KEYS[1], and the keys of the owner's read holds KEYS[3] and on, if the field ARGV[1] still
-- holds it, as forceUnlock does; tells message ARGV[3] to the next of the fair queue KEYS[2] and on channel ARGV[2].
if look('HEXISTS', KEYS[1], ARGV[1]) ~= 1 then
  return 0
end
call('DEL', KEYS[1])
for i = 3, #KEYS do
  redis.pcall('DEL', KEYS[i])
end
local nextUp = redis.pcall('LINDEX', KEYS[2], 0)
if type(nextUp) == 'string' then
  wake(ARGV[2] .. ':' .. nextUp, ARGV[3])
end
wake(ARGV[2], ARGV[3])
return 1
