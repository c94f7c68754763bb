-- A command, the wish to take an order back and the end of a task move the step row of the task too, by now: all of them are
-- counted anew from the entries, as `kernel::ledger` counts them. A ledger without rows gets all of them from its entries
-- when it is opened.
INSERT INTO rows (kind, name, number)
SELECT 'step', task, count(*)
FROM (
    SELECT coalesce(
        entry -> 'commandIssued' -> 'command' ->> 'task',
        entry -> 'sessionRequested' ->> 'task',
        entry -> 'withdrawalAsked' ->> 'task',
        CASE
            WHEN entry -> 'taskChanged' -> 'event' ?| ARRAY['finished', 'executionFailed', 'withdrawn']
            THEN entry -> 'taskChanged' ->> 'task'
        END
    ) AS task
    FROM (SELECT record::jsonb AS entry FROM entries) AS parsed
) AS steps
WHERE task IS NOT NULL AND EXISTS (SELECT 1 FROM rows)
GROUP BY task
ON CONFLICT (kind, name) DO UPDATE SET number = excluded.number;
