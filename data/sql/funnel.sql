-- How many entered each phase and what became of them. entered = passed + rejected + failed + review + needs_model +
-- pending. A contribution refused by ingest counts as one that entered and was rejected there. Withdrawn ones are left out.
CREATE OR REPLACE VIEW main.funnel AS
WITH ended AS (
    SELECT c.candidate_id, p.position, c.outcome
    FROM history.current c
    JOIN history.phases p ON p.phase = c.phase
    JOIN main.candidates k ON k.candidate_id = c.candidate_id
    WHERE c.scope = 'candidates' AND k.status <> 'withdrawn'
),
steps AS (
    SELECT 1 AS position, candidate_id, outcome FROM ended WHERE position = 1
    UNION ALL
    SELECT 1, contribution_id, 'rejected'
    FROM main.contributions WHERE NOT accepted AND contribution_id NOT IN (FROM history.tombstones)
    UNION ALL
    SELECT before.position + 1, before.candidate_id, coalesce(this.outcome, 'pending')
    FROM ended before
    LEFT JOIN ended this ON this.candidate_id = before.candidate_id AND this.position = before.position + 1
    WHERE before.outcome = 'passed'
),
counted AS (
    SELECT
        p.position,
        p.phase,
        count(s.candidate_id) AS entered,
        count(*) FILTER (s.outcome = 'passed') AS passed,
        count(*) FILTER (s.outcome = 'rejected') AS rejected,
        count(*) FILTER (s.outcome = 'failed') AS failed,
        count(*) FILTER (s.outcome = 'review') AS review,
        count(*) FILTER (s.outcome = 'needs_model') AS needs_model,
        count(*) FILTER (s.outcome = 'pending') AS pending
    FROM history.phases p LEFT JOIN steps s ON s.position = p.position
    GROUP BY p.position, p.phase
)
SELECT
    * EXCLUDE (position),
    round(passed / nullif(first_value(entered) OVER (ORDER BY position), 0), 4) AS share
FROM counted
ORDER BY position;
COMMENT ON VIEW main.funnel IS 'Per phase: entered, what became of them, and the share of all that entered which passed it';
