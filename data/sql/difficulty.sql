-- How hard each environment is: the size of the real change, and how often models solve it. Runs without a model (oracle,
-- nop, replay) do not count; with no model run, solve_rate is null.
CREATE OR REPLACE VIEW main.difficulty AS
WITH tries AS (
    SELECT
        environment_id,
        count(*) AS model_runs,
        count(DISTINCT model) AS models,
        count(*) FILTER (reward >= 1) AS solved,
        count(*) FILTER (reward IS NULL) AS without_reward,
        median(steps) AS median_steps,
        median(tokens) AS median_tokens
    FROM main.rollouts WHERE model IS NOT NULL GROUP BY environment_id
)
SELECT
    e.environment_id,
    e.candidate_id,
    k.repository,
    r.files_changed,
    r.insertions + r.deletions AS lines_changed,
    v.fail_to_pass,
    v.hunks_required,
    length(k.instruction) AS instruction_chars,
    coalesce(t.model_runs, 0) AS model_runs,
    t.models,
    t.solved,
    round(t.solved / nullif(t.model_runs - t.without_reward, 0), 4) AS solve_rate,
    t.median_steps,
    t.median_tokens
FROM main.environments e
JOIN main.candidates k ON k.candidate_id = e.candidate_id
LEFT JOIN main.reconstructions r ON r.candidate_id = e.candidate_id
LEFT JOIN main.verifiers v ON v.environment_id = e.environment_id
LEFT JOIN tries t ON t.environment_id = e.environment_id
WHERE e.status = 'passed';
COMMENT ON VIEW main.difficulty IS 'Size of the real change and solve rate of models, per environment';
