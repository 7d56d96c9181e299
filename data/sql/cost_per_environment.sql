-- What each environment took. run_seconds is the time of all runs of all its phases, crashed and repeated ones too;
-- dropped_seconds spreads the time spent on candidates without an environment evenly. Null means: nothing measured.
CREATE OR REPLACE VIEW main.cost_per_environment AS
WITH runs AS (
    SELECT candidate_id, sum(seconds) AS run_seconds FROM main.phase_runs GROUP BY candidate_id
),
measured AS (
    SELECT
        candidate_id,
        sum(value) FILTER (kind = 'cpu_seconds') AS cpu_seconds,
        sum(value) FILTER (kind = 'containers') AS containers
    FROM main.costs GROUP BY candidate_id
),
models AS (
    SELECT candidate_id, sum(cost_usd) AS model_usd
    FROM (
        SELECT candidate_id, cost_usd FROM main.verdicts
        UNION ALL
        SELECT candidate_id, cost_usd FROM main.rollouts
    ) GROUP BY candidate_id
)
SELECT
    e.environment_id,
    e.candidate_id,
    runs.run_seconds,
    (SELECT sum(run_seconds) FROM runs WHERE candidate_id NOT IN (SELECT candidate_id FROM main.environments))
        / count(*) OVER () AS dropped_seconds,
    measured.cpu_seconds,
    measured.containers,
    e.size_bytes,
    e.unique_bytes,
    models.model_usd
FROM main.environments e
LEFT JOIN runs ON runs.candidate_id = e.candidate_id
LEFT JOIN measured ON measured.candidate_id = e.candidate_id
LEFT JOIN models ON models.candidate_id = e.candidate_id
WHERE e.status = 'passed';
COMMENT ON VIEW main.cost_per_environment IS 'Time, bytes and model costs of each environment, and its part of what was dropped';
