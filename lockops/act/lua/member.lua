-- Takes the members ARGV, its last one left out, out of the sorted set or set KEYS[1], if the first of them is still in it.
local members = {unpack(ARGV, 1, #ARGV - 1)}
local score = look('ZSCORE', KEYS[1], members[1])
if score then
  call('ZREM', KEYS[1], unpack(members))
  return 1
end
return look('SREM', KEYS[1], unpack(members)) or 0
