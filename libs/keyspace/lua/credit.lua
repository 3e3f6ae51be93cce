-- Adds tokens to a subscription. Credits are numbered without gaps, so one number remembers all of them.
-- KEYS 1 epoch  2 subscription
-- ARGV 1 epoch  2 subscription id  3 seq  4 delta (negative only for a reconciliation)
-- Returns OK, balance | DUPLICATE, seq | GAP, seq | FENCED; seq is the last one applied
local function credit(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local seq, delta = natural(ARGV[3]), integer(ARGV[4])
  if not seq or not delta then return invalid('credit') end
  local sub = redis.call('HMGET', KEYS[2], 'id', 'bal', 'cseq')
  if sub[1] and sub[1] ~= ARGV[2] then return invalid('credit: the record is of another subscription') end
  local applied = tonumber(sub[3] or '0')
  if seq <= applied then return { 'DUPLICATE', text(applied) } end
  if seq > applied + 1 then return { 'GAP', text(applied) } end
  local balance = tonumber(sub[2] or '0') + delta
  if balance > INTEGER_MAX then return invalid('credit: the balance would be too large') end
  credit_ceiling(KEYS[1], KEYS[2], balance - delta, delta, seq)
  redis.call('HSET', KEYS[2], 'cseq', text(seq), 'bal', text(balance))
  return { 'OK', text(balance) }
end
