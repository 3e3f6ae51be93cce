-- While running requests are given back the holds that Redis lost, this stands before a shard's epoch.
local RESTORING = 'restoring:'

-- Returns the state of a shard's epoch: 'open' or 'restoring' in the one that is asked for, nil in any other.
local function standing_of(found, epoch)
  if found == epoch then return 'open' end
  if found == RESTORING .. epoch then return 'restoring' end
  return nil
end

local function standing(key, epoch)
  return standing_of(redis.call('GET', key), epoch)
end

local function epoch_of(found)
  if string.sub(found, 1, #RESTORING) == RESTORING then return string.sub(found, #RESTORING + 1) end
  return found
end
