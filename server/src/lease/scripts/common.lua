-- What every script knows. One lift, six keys: the lease; its line, by turn; what each in the line wants; the last
-- serial; the last ticket; by which life the store goes. Numbers that must be exact stay text: Lua's own are not, above 2^53.
local LEASE, LINE, WANTS, SERIAL, TICKETS, LIFE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local HOLDER, NONCE = ARGV[1], ARGV[2]
local TTL, HOLD_MAX, CLAIM, ALIVE, TICKET =
    tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

-- Which start of the server this is, and of which history: one that was replaced and takes over again has another, though
-- it never stopped.
local RUN = ARGV[#ARGV] .. '-' .. string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function above(a, b)
    return #a > #b or (#a == #b and a > b)
end

-- By which life the store goes. Another start has another, with whatever it has: a replica that took over, a disk from
-- before. And what was emptied has none, be it of its serial alone.
local life = redis.call('GET', LIFE)
if life and (string.sub(life, 1, #RUN + 1) ~= RUN .. '.' or redis.call('EXISTS', SERIAL) == 0) then
    life = nil
end

-- What was granted in another life does not count. `since` is 0 until the holder has claimed what was handed over to it; what nobody claims is free again. A lease that a
-- node of an earlier version wrote does not say since when it was given.
local function held()
    local it = redis.call('HMGET', LEASE, 'holder', 'nonce', 'epoch', 'serial', 'since', 'given')
    if not it[1] or not life then
        return nil
    end
    local lease = { holder = it[1], nonce = it[2], epoch = it[3], serial = it[4], since = tonumber(it[5]),
        given = tonumber(it[6] or it[5]) }
    if lease.given > now or lease.since > now then
        -- This machine's clock was set back: the longest hold counts anew, or a dead holder would keep the lift.
        lease.given, lease.since = math.min(lease.given, now), math.min(lease.since, now)
        redis.call('HSET', LEASE, 'since', lease.since, 'given', lease.given)
    end
    if lease.since == 0 and now - lease.given >= CLAIM then
        redis.call('DEL', LEASE)
        return nil
    end
    return lease
end

local function left(lease)
    return lease and lease.since == 0 and CLAIM - (now - lease.given) or redis.call('PTTL', LEASE)
end

local function is_ours(lease)
    return lease and lease.holder == HOLDER and lease.nonce == NONCE
end

local function leave_line(holder)
    redis.call('ZREM', LINE, holder)
    redis.call('HDEL', WANTS, holder)
end

-- What a node wants, unless its ticket has ended: that lives on for a while after it was last heard.
local function want_of(holder)
    local text = redis.call('HGET', WANTS, holder)
    local want = text and cjson.decode(text)
    if want and now - want.heard > TICKET then
        leave_line(holder)
        return nil
    end
    if want and not want.ticket then
        -- A node of an earlier version wrote it, to which the line is by tickets alone.
        want.ticket, want.priority, want.overtaken = (redis.call('ZSCORE', LINE, holder) or 0) % 2 ^ 44, 3, 0
    end
    return want
end

local function keep_want(holder, want)
    redis.call('HSET', WANTS, holder, cjson.encode(want))
end

local function still_waits(want)
    return want and want.waits and now - want.heard <= ALIVE
end

-- The turn of who waits: the higher rank first, then by tickets. The rank is the priority with the age, which is counted
-- in the times that a later ticket was served first: after three of them it is the highest, and nobody overtakes it.
local function rank_of(want)
    return math.min(want.priority + want.overtaken, 3)
end

local function take_turn(holder, want)
    redis.call('ZADD', LINE, (3 - rank_of(want)) * 2 ^ 44 + want.ticket, holder)
end

-- The next who still waits.
local function first()
    for _, holder in ipairs(redis.call('ZRANGE', LINE, 0, -1)) do
        local want = want_of(holder)
        if still_waits(want) then
            return holder, want
        end
    end
end

-- Who is served overtakes those that wait by earlier tickets: they stand behind it, since they rank lower. As a rule all
-- rank the same, and then the last in the line says so.
local function overtake(holder, want)
    local last = redis.call('ZRANGE', LINE, -1, -1, 'WITHSCORES')
    if not last[2] or 3 - math.floor(last[2] / 2 ^ 44) >= rank_of(want) then
        return
    end
    for _, other in ipairs(redis.call('ZRANGE', LINE, 0, -1)) do
        local it = other ~= holder and want_of(other)
        if it and still_waits(it) and it.ticket < want.ticket then
            it.overtaken = it.overtaken + 1
            keep_want(other, it)
            take_turn(other, it)
        end
    end
end

local function grant(holder, want, since)
    if above(want.floor, redis.call('GET', SERIAL) or '0') then
        redis.call('SET', SERIAL, want.floor)
    end
    redis.call('INCR', SERIAL)
    local serial = redis.call('GET', SERIAL)
    redis.call('HSET', LEASE, 'holder', holder, 'nonce', want.nonce, 'epoch', want.epoch, 'serial', serial,
        'since', since, 'given', now)
    redis.call('PEXPIRE', LEASE, TTL)
    return serial
end

-- Grants a free lift to the next who still waits, and wakes it; the grant travels with the wake-up. It has a short
-- while to claim it; if it has died, the next one's poll finds the lift free again. It keeps its ticket until then.
local function hand_over()
    local holder, want = first()
    if holder then
        want.waits = false
        keep_want(holder, want)
        overtake(holder, want)
        local serial = grant(holder, want, 0)
        redis.call('PUBLISH', want.channel,
            want.epoch .. ' ' .. serial .. ' ' .. LEASE .. ' ' .. holder .. ' ' .. want.nonce)
    end
end
