-- Sets the TTL of the keys KEYS to ARGV[3] ms, if ARGV[1] still holds the lock in the first of them, as its value or its
-- field, and that one never expires (ARGV[2] 'never') or does ('ends'), as was seen ('unknown': whichever).
-- Returns 1 set, 0 it does not hold it, -1 it has gained or lost a TTL.
local value = look('GET', KEYS[1])
if value ~= ARGV[1] and (value or look('HEXISTS', KEYS[1], ARGV[1]) ~= 1) then
  return 0
end
local left = call('PTTL', KEYS[1])
if ARGV[2] ~= 'unknown' and (left == -1) ~= (ARGV[2] == 'never') then
  return -1
end
call('PEXPIRE', KEYS[1], ARGV[3])
for i = 2, #KEYS do
  redis.pcall('PEXPIRE', KEYS[i], ARGV[3])
end
return 1
