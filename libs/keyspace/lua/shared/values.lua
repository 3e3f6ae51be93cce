-- Reads numbers and time. Every number is an integer below 2^53, which Lua's doubles hold exactly.
local INTEGER_MAX = 9007199254740991

-- Returns the decimal text of an integer: no exponent, and never '-0', which Redis refuses as an integer. Amounts are answered as text too:
-- clients read integer replies digit by digit and lose the last one close to 2^53.
local function text(n)
  return string.format('%d', n)
end

-- Reads an argument that must be an integer >= 0; returns nil when it is anything else.
local function natural(argument)
  if not argument or not string.find(argument, '^%d+$') then return nil end
  local n = tonumber(argument)
  if n > INTEGER_MAX then return nil end
  return n
end

-- Reads an argument that must be an integer of either sign; returns nil when it is anything else.
local function integer(argument)
  if argument and string.sub(argument, 1, 1) == '-' then
    local n = natural(string.sub(argument, 2))
    return n and -n
  end
  return natural(argument)
end

-- Returns the answer to bad arguments. Nothing was written before it.
local function invalid(what)
  return redis.error_reply('ERR tollgate: invalid ' .. what)
end

-- Returns Unix ms by Redis' own clock. Only tests pass `given`.
local function clock(given)
  if given and given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Tokens no hold has a claim to. Never more than the balance: `held` below zero is a mistake, or was written by another than these functions.
local function free_of(balance, held)
  return balance - math.max(0, held)
end
