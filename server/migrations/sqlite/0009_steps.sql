-- A command, the wish to take an order back and the end of a task move the step row of the task too, by now: all of them are
-- counted anew from the entries, as `kernel::ledger` counts them. A ledger without rows gets all of them from its entries
-- when it is opened.
INSERT INTO rows (kind, name, number)
SELECT 'step', task, count(*)
FROM (
    SELECT coalesce(
        json_extract(record, '$.commandIssued.command.task'),
        json_extract(record, '$.sessionRequested.task'),
        json_extract(record, '$.withdrawalAsked.task'),
        CASE
            WHEN coalesce(
                json_extract(record, '$.taskChanged.event.finished'),
                json_extract(record, '$.taskChanged.event.executionFailed'),
                json_extract(record, '$.taskChanged.event.withdrawn')
            ) IS NOT NULL
            THEN json_extract(record, '$.taskChanged.task')
        END
    ) AS task
    FROM entries
)
WHERE task IS NOT NULL AND EXISTS (SELECT 1 FROM rows)
GROUP BY task
ON CONFLICT (kind, name) DO UPDATE SET number = excluded.number;
