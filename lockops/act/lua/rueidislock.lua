-- Deletes those of the keys of one lock that still hold ARGV[1], if it holds the lock by two of them, or does not, as was
-- seen: ARGV[2] is 'holds' or 'partial'.
local own = {}
for _, key in ipairs(KEYS) do
  if look('GET', key) == ARGV[1] then
    own[#own + 1] = key
  end
end
if #own == 0 or (#own >= 2) ~= (ARGV[2] == 'holds') then
  return 0
end
for _, key in ipairs(own) do
  call('DEL', key)
end
return 1
