-- Asks for the lift; asked again, tells how it stands; claims what was handed over.
local EPOCH, FLOOR, CHANNEL, WAITERS_MAX, STAYS =
    ARGV[8], ARGV[9], ARGV[10], tonumber(ARGV[11]), ARGV[12] == '1'
local NAMED, PRIORITY = ARGV[13], tonumber(ARGV[14])
local mine = { nonce = NONCE, epoch = EPOCH, floor = FLOOR, channel = CHANNEL, priority = PRIORITY, overtaken = 0,
    heard = now, waits = true }

local function granted(epoch, serial)
    return { 'granted', epoch, serial, redis.call('PTTL', LEASE) }
end

local function grant_now()
    leave_line(HOLDER)
    return granted(EPOCH, grant(HOLDER, mine, now))
end

local lease = held()
if not life then
    -- Nobody holds anything, nobody waits; the serials stay.
    redis.call('DEL', LEASE, LINE, WANTS)
    life = RUN .. '.' .. NONCE .. '.' .. time[1] .. '-' .. time[2]
    redis.call('SET', LIFE, life)
    redis.call('SET', SERIAL, '0', 'NX')
end
if life ~= NAMED then
    return { 'changed', life, 0, 0 }
end
if is_ours(lease) then
    -- Told again is written again: replicas confirm what was written, and nothing would be confirmed by all of them.
    redis.call('HSET', LEASE, 'told', now)
    if lease.since == 0 then
        redis.call('HSET', LEASE, 'since', now)
        redis.call('PEXPIRE', LEASE, TTL)
        leave_line(HOLDER)
    end
    return granted(lease.epoch, lease.serial)
end
-- A node asks once at a time, by rising nonces: one that asks anew has given up what it held, and its release, or the
-- answer to its request, was lost. And nobody needs a lift for longer than the longest hold.
local given_up = lease and lease.holder == HOLDER and above(NONCE, lease.nonce)
local too_long = lease and lease.since > 0 and now - lease.since >= HOLD_MAX
if given_up or too_long then
    redis.call('DEL', LEASE)
    lease = nil
end
if not lease and redis.call('ZCARD', LINE) == 0 then
    return grant_now()
end

local want = want_of(HOLDER)
local is_late = (want and above(want.nonce, NONCE))
    or (lease and lease.holder == HOLDER and above(lease.nonce, NONCE))
if not want and not is_late then
    local n_waiting = redis.call('ZCARD', LINE)
    if n_waiting >= WAITERS_MAX then
        for _, holder in ipairs(redis.call('ZRANGE', LINE, 0, -1)) do
            want_of(holder)
        end
        n_waiting = redis.call('ZCARD', LINE)
    end
    if n_waiting >= WAITERS_MAX then
        if not lease then
            hand_over()
            lease = held()
        end
        return { 'refused', lease and lease.holder or HOLDER, n_waiting + 1, 0 }
    end
    mine.ticket = redis.call('INCR', TICKETS)
    take_turn(HOLDER, mine)
end
if not is_late then
    if want then
        mine.ticket, mine.overtaken = want.ticket, want.overtaken
        if rank_of(mine) ~= rank_of(want) then
            take_turn(HOLDER, mine)
        end
    end
    keep_want(HOLDER, mine)
end
if not lease then
    if first() == HOLDER and not is_late then
        overtake(HOLDER, mine)
        return grant_now()
    end
    hand_over()
    lease = held()
end

local place = 1
for _, holder in ipairs(redis.call('ZRANGE', LINE, 0, -1)) do
    if holder == HOLDER then
        break
    end
    if still_waits(want_of(holder)) then
        place = place + 1
    end
end
if is_late then
    return { 'refused', lease and lease.holder or HOLDER, place, 0 }
end
if not STAYS then
    mine.waits = false
    keep_want(HOLDER, mine)
end
return { 'waits', lease and lease.holder or HOLDER, place, left(lease) }
