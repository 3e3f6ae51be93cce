-- Emits again what the reap of a request charged, when its event was lost on the way to the ledger. Changes no balance; PostgreSQL books a number once.
-- KEYS 1 epoch  2 hold  3 outbox
-- ARGV 1 epoch  2 rid
-- Returns OK, subscription id, charged | NOT_FOUND | FENCED
local function repeat_reap(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local hold = redis.call('HMGET', KEYS[2], 'st', 'c0', 'c1', 'c2', 'wd', 'acct', 'sub', 'model')
  -- A first charge that was not corrected is the reaper's only while the hold is reaped.
  if not hold[2] or (hold[1] ~= 'reaped' and not hold[3]) then return { 'NOT_FOUND' } end
  emit(KEYS[3], ARGV[2], '0', hold[2], reap_payload(KEYS[2]))
  if hold[4] then emit(KEYS[3], ARGV[2], '2', hold[4], withdraw_payload(hold[6], hold[7], hold[8], hold[5])) end
  return { 'OK', hold[7], hold[2] }
end
