-- Says whether this caller may use the interface, and which models. It only reads: it serves /v1/models, count_tokens, and to tell 401 from 400.
-- KEYS 1 epoch  2 key  3 account  4 subscribed models
-- ARGV 1 epoch  2 account id  3 address (32 hex or '')  4 now (tests only)
-- Returns OK, key id, allowed models, model id... or FENCED or a refusal of caller.lua
local function access(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local key = redis.call('HMGET', KEYS[2], 'st', 'acct', 'exp', 'ips', 'id', 'models')
  local refused = caller_refused(key, ARGV[2], ARGV[3], redis.call('HGET', KEYS[3], 'st'), clock(ARGV[4]))
  if refused then return refused end
  local reply = { 'OK', key[5], key[6] }
  for _, model in ipairs(redis.call('SMEMBERS', KEYS[4])) do table.insert(reply, model) end
  return reply
end
