-- Sets the number of the last applied credit back to the last one that PostgreSQL has given, where another than these functions raised it:
-- later credits would count as applied. The balance stays; what it lacks or has too much is a drift like any other.
-- KEYS 1 epoch  2 subscription
-- ARGV 1 epoch  2 subscription id  3 seq as it was found  4 seq
-- Returns OK | CHANGED: the record is another's, or the number is no longer as it was found | FENCED
local function reset_credits(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local found, seq = natural(ARGV[3]), natural(ARGV[4])
  if not found or not seq then return invalid('credit seq') end
  local sub = redis.call('HMGET', KEYS[2], 'id', 'cseq')
  if sub[1] ~= ARGV[2] or tonumber(sub[2] or '0') ~= found then return { 'CHANGED' } end
  redis.call('HSET', KEYS[2], 'cseq', text(seq))
  return { 'OK' }
end
