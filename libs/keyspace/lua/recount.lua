-- Counts anew what the open holds of a subscription hold, and how many they are.
-- KEYS 1 epoch  2 subscription  3 holds
-- ARGV 1 epoch  2 account id  3 model id  4 prefix of hold keys
-- Returns OK, held before, held | NOT_FOUND | FENCED
local function recount(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local before = redis.call('HGET', KEYS[2], 'held')
  if not before then return { 'NOT_FOUND' } end
  local held, running = 0, 0
  for _, rid in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', '+inf')) do
    local hold = redis.call('HMGET', ARGV[4] .. rid, 'st', 'amt', 'acct', 'model')
    if hold[1] == 'open' and hold[3] == ARGV[2] and hold[4] == ARGV[3] then
      held, running = held + tonumber(hold[2]), running + 1
    end
  end
  redis.call('HSET', KEYS[2], 'held', text(held), 'conc', text(running))
  return { 'OK', before, text(held) }
end
