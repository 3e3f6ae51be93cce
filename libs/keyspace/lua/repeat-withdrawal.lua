-- Takes out again what a withdrawal took that the ledger knows and Redis has lost with the end of what it wrote. Emits nothing.
-- Ids of a subscription's withdrawals rise, and what is lost is an end: a record that knows this one or a later one has lost neither.
-- KEYS 1 epoch  2 subscription
-- ARGV 1 epoch  2 subscription id  3 withdrawal id  4 tokens it took
-- Returns OK, balance | DUPLICATE | NOT_FOUND | FENCED
local function repeat_withdrawal(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local tokens = natural(ARGV[4])
  if not tokens then return invalid('repeated withdrawal') end
  local sub = redis.call('HMGET', KEYS[2], 'id', 'bal', 'wd')
  if sub[1] ~= ARGV[2] then return { 'NOT_FOUND' } end
  if sub[3] and sub[3] >= ARGV[3] then return { 'DUPLICATE' } end
  -- Requests admitted since the loss may hold some of them: the balance then goes below zero, and they spend only their own account's money.
  local balance = tonumber(sub[2] or '0') - tokens
  move_ceiling(KEYS[1], KEYS[2], balance + tokens, -tokens)
  redis.call('HSET', KEYS[2], 'bal', text(balance), 'wd', ARGV[3], 'taken', text(tokens))
  return { 'OK', text(balance) }
end
