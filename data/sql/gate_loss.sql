-- What each gate costs: of the verifiers it was measured on, how many it speaks against. A gate that was not measured has
-- measured = 0 and no share. Thresholds are those of the design (mutants >= 0.9 killed, guess_odds <= 1e-4).
CREATE OR REPLACE VIEW main.gate_loss AS
WITH judged AS (
    SELECT unnest([
        {position: 1, gate: 'nop', kind: 'hard', lost: v.nop_reward <> 0},
        {position: 2, gate: 'stub', kind: 'hard', lost: v.stub_reward <> 0},
        {position: 3, gate: 'oracle', kind: 'hard', lost: v.oracle_reward <> 1},
        {position: 4, gate: 'repeats', kind: 'hard', lost: if(v.repeats > 0, v.flips > 0, NULL)},
        {position: 5, gate: 'regression', kind: 'hard', lost: v.reason_code = 'regression_empty'},
        {position: 6, gate: 'leaks', kind: 'hard', lost: e.leak_hits > 0},
        {position: 7, gate: 'attacks', kind: 'hard', lost: v.attack_wins > 0},
        {position: 8, gate: 'coupling', kind: 'eval', lost: v.coupling_findings > 0},
        {position: 9, gate: 'hunks', kind: 'eval', lost: v.hunks_detected < v.hunks_required},
        {position: 10, gate: 'mutants', kind: 'eval', lost: v.mutants_killed / nullif(v.mutants, 0) < 0.9},
        {position: 11, gate: 'twins', kind: 'eval', lost: v.guess_odds > 1e-4},
        {position: 12, gate: 'replay', kind: 'eval', lost: c.reason_code = 'replay_passes'}
    ], recursive := true)
    FROM main.verifiers v
    LEFT JOIN main.environments e ON e.environment_id = v.environment_id
    LEFT JOIN history.current c ON c.candidate_id = v.candidate_id AND c.scope = 'candidates' AND c.phase = 'capture'
)
SELECT
    gate,
    kind,
    count(*) AS verifiers,
    count(lost) AS measured,
    count(*) FILTER (lost) AS lost,
    round(count(*) FILTER (lost) / nullif(count(lost), 0), 4) AS share
FROM judged
GROUP BY position, gate, kind
ORDER BY position;
COMMENT ON VIEW main.gate_loss IS 'Per gate: verifiers measured, and how many of them it speaks against';
