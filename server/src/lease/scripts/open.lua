-- Opens the record of a call under a lease, or tells how the same call stands. Whatever was called before is void then:
-- its record is taken to be at BEFORE, and the answer is where it is instead.
local LAST, RECORD, BEFORE = KEYS[7], KEYS[8], KEYS[9]
local EPOCH, COMMAND, ACCEPTED, OUTCOME, LIFE = ARGV[9], ARGV[10], ARGV[11], tonumber(ARGV[12]), tonumber(ARGV[13])

local lease = held()
if not is_ours(lease) or lease.serial ~= ARGV[8] or lease.epoch ~= EPOCH then
    return { 'lost', '', 0 }
end
local last = redis.call('GET', LAST)
if last and last ~= RECORD and last ~= BEFORE then
    return { 'elsewhere', last, 0 }
end
local it = last == RECORD and redis.call('HMGET', RECORD, 'command', 'epoch', 'accepted', 'state', 'opened')
if it and it[1] and it[2] == EPOCH and it[3] == ACCEPTED then
    local by, state, since = it[1], it[4], math.max(now - tonumber(it[5]), 0)
    if state == 'acknowledged' then
        if redis.call('PTTL', RECORD) > LIFE then
            -- This machine's clock was set back.
            redis.call('PEXPIRE', RECORD, LIFE)
            redis.call('PEXPIRE', LAST, LIFE)
        end
        return { 'acknowledged', by, since }
    end
    if by == COMMAND then
        return { 'opened', by, since }
    end
    -- After a while its sender would have heard: it has died, or has not said so yet.
    return { state == 'pending' and since < OUTCOME and 'joined' or 'unknown', by, since }
end
redis.call('DEL', RECORD, BEFORE)
redis.call('HSET', RECORD, 'command', COMMAND, 'holder', HOLDER, 'epoch', EPOCH, 'accepted', ACCEPTED,
    'state', 'pending', 'opened', now)
redis.call('SET', LAST, RECORD)
return { 'opened', COMMAND, 0 }
