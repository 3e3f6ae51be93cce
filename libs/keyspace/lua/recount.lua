-- Compares what the subscriptions of a shard hold, and how many requests they run, with their open holds. Recounts where the two differ.
-- KEYS 1 epoch  2 holds
-- ARGV 1 epoch  2 prefix of hold keys  3 prefix of subscription keys  4... account id:model id of subscriptions without open holds
-- Returns OK, (account id:model id, held before, held)... | FENCED
local function open_holds(holds, prefix, ARGV)
  local held, running, order = {}, {}, {}
  local function note(name)
    if held[name] then return end
    held[name], running[name] = 0, 0
    table.insert(order, name)
  end
  for i = 4, #ARGV do note(ARGV[i]) end
  for _, rid in ipairs(redis.call('ZRANGEBYSCORE', holds, '-inf', '+inf')) do
    local hold = read_hold(prefix .. rid)
    if hold and hold.st == 'open' then
      local name = hold.acct .. ':' .. hold.model
      note(name)
      held[name] = held[name] + math.max(0, hold.amt)
      running[name] = running[name] + 1
    end
  end
  return held, running, order
end

local function recount(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local held, running, order = open_holds(KEYS[2], ARGV[2], ARGV)
  local reply = { 'OK' }
  for _, name in ipairs(order) do
    local key = ARGV[3] .. name
    -- A key of another type is no subscription: it must not keep its shard from being counted.
    local sub = redis.pcall('HMGET', key, 'id', 'held', 'conc')
    if sub[1] and (sub[2] ~= text(held[name]) or sub[3] ~= text(running[name])) then
      redis.call('HSET', key, 'held', text(held[name]), 'conc', text(running[name]))
      for _, value in ipairs({ name, sub[2] or '', text(held[name]) }) do table.insert(reply, value) end
    end
  end
  return reply
end
