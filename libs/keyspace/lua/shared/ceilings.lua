-- Keeps the most that each balance can be by what the functions themselves did to it, in the memory of this server, which no command reaches. A balance that another program
-- raises in Redis is spent up to its ceiling only. A server that has started, or has got a new library, knows no ceilings, and learns each when the balance is first
-- admitted against, given or vouched for by the reconciliation.
local CEILINGS_MAX = 1000000
-- Relays look at each shard twice a second. After a longer pause this server was no primary of the shard, and what it knows is out of date.
local PAUSE_MAX_MS = 10000
local memories = {}

local function memory_of(epoch)
  local memory = memories[epoch]
  if not memory then
    memory = { tops = {}, credits = {}, reaped = {}, count = 0 }
    memories[epoch] = memory
  end
  return memory
end

-- Goes by the server's own clock: a caller that passes another could have everything forgotten.
local function watch_memory(epoch)
  local memory, now = memory_of(epoch), clock('')
  if memory.seen and now - memory.seen > PAUSE_MAX_MS then
    memories[epoch] = nil
    memory = memory_of(epoch)
  end
  memory.seen = now
end

local function set_ceiling(epoch, key, balance, credit_seq)
  local memory = memory_of(epoch)
  if not memory.tops[key] then
    if memory.count >= CEILINGS_MAX then return end
    memory.count = memory.count + 1
  end
  memory.tops[key], memory.credits[key] = balance, credit_seq
end

-- Returns what of a balance may be held.
local function spendable(epoch, key, balance)
  local top = memory_of(epoch).tops[key]
  if top and top < balance then return top end
  return balance
end

-- Returns the same as spendable, and learns the ceiling of a balance that is not known yet.
local function learn_spendable(epoch, key, balance)
  local tops = memory_of(epoch).tops
  local top = tops[key]
  if not top then
    set_ceiling(epoch, key, balance, natural(redis.call('HGET', key, 'cseq')) or 0)
    return balance
  end
  if top < balance then return top end
  tops[key] = balance
  return balance
end

-- The function that runs moved the balance from `before` by so much.
local function move_ceiling(epoch, key, before, by)
  local tops = memory_of(epoch).tops
  if tops[key] then tops[key] = math.min(tops[key], before) + by end
end

local function lower_ceiling(epoch, key, balance)
  local tops = memory_of(epoch).tops
  if tops[key] then tops[key] = math.min(tops[key], balance) end
end

-- A credit that was counted before is sent again where Redis lost it: it raises no ceiling twice. What the reconciliation takes out lowers none below what it leaves.
local function credit_ceiling(epoch, key, before, delta, seq)
  if delta < 0 then return lower_ceiling(epoch, key, before + delta) end
  local credits = memory_of(epoch).credits
  if seq <= (credits[key] or 0) then return move_ceiling(epoch, key, before, 0) end
  move_ceiling(epoch, key, before, delta)
  if credits[key] then credits[key] = seq end
end
