-- Exploits tried against verifiers, by stack and grade. Empty until attacks are measured: a null on the quality card is
-- left out here, never counted as a defended attack.
CREATE OR REPLACE VIEW main.attack_matrix AS
SELECT
    r.stack,
    v.grade,
    count(*) AS verifiers,
    sum(v.attacks)::BIGINT AS attacks,
    sum(v.attack_wins)::BIGINT AS attack_wins,
    round(sum(v.attack_wins) / nullif(sum(v.attacks), 0), 4) AS win_share
FROM main.verifiers v
LEFT JOIN main.reconstructions r ON r.candidate_id = v.candidate_id
WHERE v.attacks IS NOT NULL
GROUP BY r.stack, v.grade
ORDER BY r.stack, v.grade;
COMMENT ON VIEW main.attack_matrix IS 'Attacks tried and won, by stack and grade; empty where none was measured';
