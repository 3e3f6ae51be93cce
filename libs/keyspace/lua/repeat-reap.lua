-- Emits again what the reap of a request charged, when its event was lost on the way to the ledger. Changes no balance; PostgreSQL books a number once.
-- KEYS 1 epoch  2 hold  3 outbox
-- ARGV 1 epoch  2 rid
-- Returns OK, subscription id, charged | NOT_FOUND | FENCED
local function repeat_reap(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local hold = read_hold(KEYS[2])
  if not is_reaped(hold) then return { 'NOT_FOUND' } end
  emit(KEYS[3], ARGV[2], '0', text(hold.c0), reap_payload(hold))
  if hold.c2 then emit(KEYS[3], ARGV[2], '2', text(hold.c2), withdraw_payload(hold.acct, hold.sub, hold.model, hold.wd)) end
  return { 'OK', hold.sub, text(hold.c0) }
end
