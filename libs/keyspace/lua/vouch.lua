-- Lets a balance be spent that the reconciliation has compared with the ledger, if it still is what was compared.
-- KEYS 1 epoch  2 subscription
-- ARGV 1 epoch  2 subscription id  3 balance
-- Returns OK | CHANGED | FENCED
local function vouch(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local balance = integer(ARGV[3])
  if not balance then return invalid('vouch') end
  local sub = redis.call('HMGET', KEYS[2], 'id', 'bal', 'cseq')
  if sub[1] ~= ARGV[2] or tonumber(sub[2] or '') ~= balance then return { 'CHANGED' } end
  set_ceiling(KEYS[1], KEYS[2], balance, natural(sub[3]) or 0)
  return { 'OK' }
end
