-- Closes a subscription: takes every token no hold has a claim to and says so in an event. What running requests release follows as they settle.
-- KEYS 1 epoch  2 subscription  3 subscribed models  4 outbox
-- ARGV 1 epoch  2 account id  3 model id  4 subscription id  5 withdrawal id  6 drain (1 or 0)  7 last credit of the ledger
-- Returns OK, withdrawn, held | DUPLICATE, withdrawn | BEHIND: without all credits it would take too little | NOT_FOUND: also where a later withdrawal is known | FENCED
local function withdraw(KEYS, ARGV)
  -- Nothing is withdrawn while holds are restored: what they held would look free.
  if standing(KEYS[1], ARGV[1]) ~= 'open' then return { 'FENCED' } end
  local credit_seq = natural(ARGV[7])
  if not credit_seq then return invalid('withdrawal') end
  local sub = redis.call('HMGET', KEYS[2], 'st', 'id', 'bal', 'held', 'wd', 'taken', 'cseq')
  if not sub[1] or sub[2] ~= ARGV[4] then return { 'NOT_FOUND' } end
  if sub[5] == ARGV[5] then return { 'DUPLICATE', sub[6] or '0' } end
  -- Ids of a subscription's withdrawals rise: an earlier one was done before this record was opened again, and is a call that arrives late.
  if sub[5] and sub[5] > ARGV[5] then return { 'NOT_FOUND' } end
  if (natural(sub[7]) or 0) < credit_seq then return { 'BEHIND' } end
  local balance, held = tonumber(sub[3]), tonumber(sub[4])
  local taken = math.max(0, free_of(balance, held))
  lower_ceiling(KEYS[1], KEYS[2], balance - taken)
  redis.call('HSET', KEYS[2], 'st', 'closing', 'bal', text(balance - taken), 'drain', ARGV[6], 'wd', ARGV[5], 'taken', text(taken))
  redis.call('SREM', KEYS[3], ARGV[3])
  emit(KEYS[4], ARGV[5], '0', text(taken), withdraw_payload(ARGV[2], ARGV[4], ARGV[3], ARGV[5]))
  return { 'OK', text(taken), text(held) }
end
