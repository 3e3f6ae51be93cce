-- Budgets of keys and accounts, and the claims that requests have on them.
--
-- A live record's `bud` has its budgets, as the control plane writes them: a JSON list of {id, unit, amount, starts, models, action, adjustments, kind, required, bucket}. `starts`: Unix
-- seconds at which its periods begin, ten digits each, in order; the last one has no end. `adjustments`: by period, what is added to the amount. `kind`: of its values
-- (budget-values.lua), '' where it counts all requests together. `required`: 1 where a request without a value is refused. `bucket`: seconds of a period of a rolling budget
-- (budget-windows.lua), 0 for any other.
-- The hash {s}:bud:<account> counts, for each budget and period `<id>:<period>`, '<used>,<held>' in the budget's units.
local PERIOD_DIGITS = 10

-- The start of the period that `now` is in, and that of the next one or nil; the first period also has what was before it.
local function period_at(starts, now)
  local seconds = text(math.floor(now / 1000))
  seconds = string.rep('0', PERIOD_DIGITS - #seconds) .. seconds
  local from = 1
  while true do
    local after = string.sub(starts, from + PERIOD_DIGITS, from + 2 * PERIOD_DIGITS - 1)
    if after == '' or after > seconds then
      return text(tonumber(string.sub(starts, from, from + PERIOD_DIGITS - 1))), after ~= '' and text(tonumber(after)) or '0'
    end
    from = from + PERIOD_DIGITS
  end
end

local function has_budgets(list)
  return list and list ~= ''
end

-- Each record's text is decoded once. Callers do not change what is returned.
local BUDGETS_KNOWN_MAX = 1000
local known_budgets, budgets_count = {}, 0

local function budgets_in(list)
  local budgets = known_budgets[list]
  if budgets then return budgets end
  budgets = cjson.decode(list)
  if budgets_count >= BUDGETS_KNOWN_MAX then known_budgets, budgets_count = {}, 0 end
  known_budgets[list], budgets_count = budgets, budgets_count + 1
  return budgets
end

-- Returns the claim of a request on one budget; nil where the budget does not apply to it. `price` is in units of money for a million charged tokens. `plain` is its rate and base where tokens are counted as reported.
local function claim_on(budget, request)
  if not model_allowed(budget[5], request.model) then return nil end
  local unit, rate, base = budget[2], MILLION, nil
  if unit == 'requests' then
    -- It was counted when another model was to answer it.
    if request.is_counted then return nil end
    rate = 0
  elseif unit == 'money' then
    rate = request.price
    if rate == 0 then return nil end
  elseif unit == 'tokens' then
    rate, base = request.plain.rate, request.plain.base
  end
  local window, period, ends = window_at(budget, request.now), nil, nil
  if window then
    period, ends = window.period, text(window.ends)
  else
    period, ends = period_at(budget[4], request.now)
  end
  local id = text(budget[1])
  return {
    id = id, unit = unit, name = id .. ':' .. period, rate = rate, base = base, limit = limit_of(budget, period, window), ends = ends,
    window = window, is_bound = budget[6] ~= 'notify', falls_back = budget[6] == 'fallback',
  }
end

-- Names the value that a claim counts under. Returns the refusal of a request that names none although it must.
local function note_value(key, budget, claim, request)
  local kind = budget[8]
  if not kind or kind == '' then return nil end
  local value = request.values[kind]
  if value == '' and budget[9] == 1 then return { 'VALUE_REQUIRED', claim.id, kind } end
  claim.value = counted_value(key, kind, value, request.now)
end

-- The claims of a request on the budgets in `lists`; nil and a refusal when one counts money and the price is not known, or a value is missing.
local function claims_of(key, lists, request)
  local claims = {}
  for i = 1, 2 do
    if has_budgets(lists[i]) then
      for _, budget in ipairs(budgets_in(lists[i])) do
        if (budget[2] == 'money' and not request.price) or (budget[2] == 'tokens' and not request.plain) then return nil, { 'FENCED' } end
        local claim = claim_on(budget, request)
        if claim then
          local refusal = note_value(key, budget, claim, request)
          if refusal then return nil, refusal end
          table.insert(claims, claim)
        end
      end
    end
  end
  return claims
end

-- A key of another type, which another program wrote, counts as nothing, and must not keep a charge from being settled.
local function read_value(place, name)
  local found = redis.pcall('HGET', place, name)
  if type(found) ~= 'table' then return found end
  redis.call('DEL', place)
  return false
end

local function counts_of(key, claims)
  local counts, names, places = {}, {}, {}
  for i, claim in ipairs(claims) do
    if claim.value then
      counts[i] = read_value(place_of(key, claim.value), claim.name)
    else
      counts[i] = false
      table.insert(names, claim.name)
      table.insert(places, i)
    end
  end
  if #names > 0 then
    for i, found in ipairs(redis.call('HMGET', key, unpack(names))) do counts[places[i]] = found end
  end
  return counts
end

-- When a claim fits a rolling budget: enough of the oldest buckets have left its window.
local function budget_fits_at(claim, used, min)
  for i, bucket in ipairs(claim.window.others) do
    local counted = read_counts(claim.window.counts[i])
    used = used - counted
    if counted > 0 and tokens_within(claim, claim.limit - used) >= min then return text(leaves_at(tonumber(bucket), claim.window.size)) end
  end
  return claim.ends
end

local function budget_exceeded(claim, found)
  local ends = claim.window and budget_fits_at(claim, found.used, found.min) or claim.ends
  return {
    'BUDGET_EXCEEDED', text(math.max(0, found.left)), claim.id, claim.unit, text(claim.limit), text(found.used), text(found.held), ends,
    claim.value and string.sub(claim.value, 1, 1) or '', claim.falls_back and '1' or '0',
  }
end

-- Reads what is counted of these claims. Returns the most tokens that all of them have room for, and the refusal of a request that needs `min`: a budget that is
-- used up comes before one in which other holds are in the way.
local function judge_claims(key, claims, min)
  local counts, tokens, held = counts_of(key, claims), INTEGER_MAX, nil
  for i, claim in ipairs(claims) do
    claim.used, claim.held = read_counts(counts[i])
    claim.is_new = not counts[i]
    if claim.window then read_window(place_of(key, claim.value), claim.window, claim.id, claim.window.others) end
    if claim.is_bound then
      local used, running = claim.used, math.max(0, claim.held)
      if claim.window then used, running = used + claim.window.used, running + claim.window.held end
      local left = tokens_within(claim, claim.limit - used)
      if left < min then return tokens, budget_exceeded(claim, { left = left, used = used, held = running, min = min }) end
      local room = tokens_within(claim, claim.limit - used - running)
      if room < min then held = { 'TOKENS_HELD', text(left), text(left - math.max(0, room)), '0' } end
      tokens = math.min(tokens, room)
    end
  end
  return tokens, held
end

-- Forgets what a value has used of a budget in periods that are over, once nothing runs of them.
local function drop_ended(place, claim)
  local prefix = claim.id .. ':'
  local first = claim.window and claim.window.first or tonumber(string.sub(claim.name, #prefix + 1))
  local found = redis.call('HGETALL', place)
  for i = 1, math.floor(#found / 2) do
    local name = found[2 * i - 1]
    local _, held = read_counts(found[2 * i])
    local period = string.sub(name, 1, #prefix) == prefix and tonumber(string.sub(name, #prefix + 1))
    if period and period < first and held == 0 then redis.call('HDEL', place, name) end
  end
end

-- Notes what a claim has used and holds: of a value it is written, of the others the fields come to `fields`, which write_fields writes.
local function note_counts(key, claim, used, held, fields)
  if claim.value then return write_counts(place_of(key, claim.value), claim.name, used, held) end
  local n = #fields
  fields[n + 1], fields[n + 2] = claim.name, text(used) .. ',' .. text(held)
end

-- One command for all fields costs Redis and its file a part of what one for each does.
local function write_fields(key, fields)
  if #fields > 0 then redis.call('HSET', key, unpack(fields)) end
end

-- Holds a grant in the budgets that were read. Returns the claims as their text, nil without any.
local function hold_claims(key, claims, grant, now)
  local claims_text, fields = nil, {}
  for _, claim in ipairs(claims) do note_counts(key, claim, claim.used, claim.held + claim_units(claim, grant), fields) end
  write_fields(key, fields)
  for _, claim in ipairs(claims) do
    local place = place_of(key, claim.value)
    if claim.value then
      if claim.is_new then drop_ended(place, claim) end
      keep_value(key, claim.value, claim.ends == '0' and now + VALUES_KEPT_MS or tonumber(claim.ends) * 1000 + VALUE_KEPT_MS, now)
    elseif claim.is_new and claim.window then
      drop_passed(place, claim.window, claim.id)
    end
    claims_text = claims_text and claims_text .. ',' .. claim_text(claim) or claim_text(claim)
  end
  return claims_text
end

-- Moves what is used and held of each claim by so many charged tokens: `used` and `held` are added, `unused` (of a reap) and `unheld` taken away. `reported` are the plain tokens of what is used, nil for a reap. `now` is in Unix ms.
local function move_claims(key, claims, move)
  local counts, fields = counts_of(key, claims), {}
  for i, claim in ipairs(claims) do
    local used, held = read_counts(counts[i])
    used = used + used_units(claim, move.used, move.reported) - used_units(claim, move.unused)
    held = held + claim_units(claim, move.held) - claim_units(claim, move.unheld)
    note_counts(key, claim, used, held, fields)
    if claim.value then keep_found(key, claim.value, move.now) end
  end
  write_fields(key, fields)
end

-- Returns the most tokens that a hold of `amount` can have in one budget; a budget that was removed bounds nothing.
local function grown_within(key, claim, budget, growth)
  if not budget or budget[6] == 'notify' or claim.rate == 0 then return INTEGER_MAX end
  local place = place_of(key, claim.value)
  local used, held = read_counts(redis.call('HGET', place, claim.name))
  local window = window_at(budget, growth.now)
  local counted = used + math.max(0, held)
  if window then
    read_window(place, window, claim.id, buckets_beside(window, claim.period))
    counted = counted + window.used + window.held
  end
  return tokens_within(claim, limit_of(budget, claim.period, window) - counted + claim_units(claim, growth.amount))
end

-- Grows a hold of `growth.amount` tokens by up to `growth.wanted` in its budgets at `growth.now`, whose live records have `growth.lists`. Returns by how many.
local function grow_claims(key, claims, growth)
  local budgets, amount, grown = {}, growth.amount, growth.wanted
  for i = 1, 2 do
    if has_budgets(growth.lists[i]) then
      for _, budget in ipairs(budgets_in(growth.lists[i])) do budgets[text(budget[1])] = budget end
    end
  end
  for _, claim in ipairs(claims) do grown = math.min(grown, grown_within(key, claim, budgets[claim.id], growth) - amount) end
  if grown <= 0 then return 0 end
  move_claims(key, claims, { held = amount + grown, unheld = amount, now = growth.now })
  return grown
end
