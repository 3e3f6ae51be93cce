-- Emits again what the reap of a request charged, when its event was lost on the way to the ledger. Changes no balance; PostgreSQL books a number once.
-- KEYS 1 epoch  2 hold  3 outbox
-- ARGV 1 epoch  2 rid
-- Returns OK, subscription id, charged | NOT_FOUND | FENCED
local function repeat_reap(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local charged = reaped_charge(KEYS[2])
  if not charged then return { 'NOT_FOUND' } end
  local hold = redis.call('HMGET', KEYS[2], 'c2', 'wd', 'acct', 'sub', 'model')
  emit(KEYS[3], ARGV[2], '0', charged, reap_payload(KEYS[2]))
  if hold[1] then emit(KEYS[3], ARGV[2], '2', hold[1], withdraw_payload(hold[3], hold[4], hold[5], hold[2])) end
  return { 'OK', hold[4], charged }
end
