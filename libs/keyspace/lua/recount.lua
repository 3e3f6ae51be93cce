-- Compares what the subscriptions of a shard hold, how many requests they run, and what budgets hold, with their open holds. Recounts where the two differ.
-- KEYS 1 epoch  2 holds
-- ARGV 1 epoch  2 prefix of hold keys  3 prefix of subscription keys  4 prefix of budget keys  5... account id:model id of subscriptions without open holds
-- Returns OK, {account id:model id, held before, held, ...}, {account id:budget:period, held before, held, ...} | FENCED
local function note_account(counted, name)
  local account = string.sub(name, 1, string.find(name, ':', 1, true) - 1)
  if counted.budgets[account] then return end
  counted.budgets[account] = { names = { 'all' }, held = { all = {} } }
  table.insert(counted.accounts, account)
end

local function note_subscription(counted, name)
  if counted.held[name] then return end
  counted.held[name], counted.running[name] = 0, 0
  table.insert(counted.order, name)
  note_account(counted, name)
end

-- Returns the units that the open holds of an account hold of its budgets, by budget and period, for one value or ('all') those without values.
local function counted_budgets(counted, account, value)
  local values = counted.budgets[account]
  if not values.held[value] then
    values.held[value] = {}
    table.insert(values.names, value)
  end
  return values.held[value]
end

local function open_holds(holds, prefix, ARGV)
  local counted = { held = {}, running = {}, order = {}, budgets = {}, accounts = {} }
  for i = 5, #ARGV do note_subscription(counted, ARGV[i]) end
  for _, rid in ipairs(redis.call('ZRANGEBYSCORE', holds, '-inf', '+inf')) do
    local hold = read_hold(prefix .. rid)
    if hold and hold.st == 'open' then
      local name = hold.acct .. ':' .. hold.model
      note_subscription(counted, name)
      counted.held[name] = counted.held[name] + math.max(0, hold.amt)
      counted.running[name] = counted.running[name] + 1
      for _, claim in ipairs(claims_in(hold.bud)) do
        local budgets = counted_budgets(counted, hold.acct, claim.value or 'all')
        budgets[claim.name] = (budgets[claim.name] or 0) + claim_units(claim, hold.amt)
      end
    end
  end
  return counted
end

-- A budget that holds something has been counted since it was first used.
local function recount_place(place, account, held, corrected)
  local found = redis.pcall('HGETALL', place)
  for i = 1, math.floor(#found / 2) do
    local name = found[2 * i - 1]
    local used, before = read_counts(found[2 * i])
    local units = held[name] or 0
    if before ~= units then
      write_counts(place, name, used, units)
      for _, part in ipairs({ account .. ':' .. name, text(before), text(units) }) do table.insert(corrected, part) end
    end
  end
end

-- Lists budgets without values, the values that hold something, and the first of the others.
local function recount_budgets(key, account, values, corrected)
  for _, kind in ipairs({ 's', 'u' }) do
    local others = redis.pcall('ZRANGEBYSCORE', value_list(key, kind), '-inf', '+inf', 'LIMIT', '0', text(VALUES_RECOUNTED))
    for _, value in ipairs(others) do
      if not values.held[value] then
        values.held[value] = {}
        table.insert(values.names, value)
      end
    end
  end
  for _, value in ipairs(values.names) do
    recount_place(value == 'all' and key or place_of(key, value), account, values.held[value], corrected)
  end
end

local function recount(KEYS, ARGV)
  if not standing(KEYS[1], ARGV[1]) then return { 'FENCED' } end
  local counted = open_holds(KEYS[2], ARGV[2], ARGV)
  local subscriptions, budgets = {}, {}
  for _, name in ipairs(counted.order) do
    local key, held, running = ARGV[3] .. name, text(counted.held[name]), text(counted.running[name])
    -- A key of another type is no subscription: it must not keep its shard from being counted.
    local sub = redis.pcall('HMGET', key, 'id', 'held', 'conc')
    if sub[1] and (sub[2] ~= held or sub[3] ~= running) then
      redis.call('HSET', key, 'held', held, 'conc', running)
      for _, value in ipairs({ name, sub[2] or '', held }) do table.insert(subscriptions, value) end
    end
  end
  for _, account in ipairs(counted.accounts) do recount_budgets(ARGV[4] .. account, account, counted.budgets[account], budgets) end
  return { 'OK', subscriptions, budgets }
end
