import { describe, expect, test } from '@jest/globals';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ALERT_RULES } from '../../apps/control-plane/src/features/alerts/alert-rules.ts';
import { boardJson } from '../src/deploy/board.ts';
import { BOARDS } from '../src/deploy/boards.ts';
import { metricsListedIn, metricsNamedIn } from '../src/deploy/metric-names.ts';

/** Specs of the apps compare docs/metrics.md with what the processes export; here everything that reads metrics is compared with docs/metrics.md. */
const root = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
const listed = metricsListedIn(read('docs/metrics.md'));

const rulesFile = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({
          record: z.string().optional(),
          alert: z.string().optional(),
          expr: z.string(),
          labels: z.object({ severity: z.enum(['page', 'ticket']) }).optional(),
          annotations: z.object({ summary: z.string(), runbook: z.string() }).optional(),
        }),
      ),
    }),
  ),
});
const ruleTests = z.object({
  tests: z.array(
    z.object({
      alert_rule_test: z.array(
        z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) }),
      ),
    }),
  ),
});
const rules = rulesFile
  .parse(parse(read('deploy/prometheus/tollgate.rules.yaml')))
  .groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);
const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...BOARDS.filter(({ source }) => source === 'prometheus').flatMap(({ panels, variables }) => [
    ...panels.flatMap(({ queries }) => queries.map(([expression]) => expression)),
    ...variables.map(({ query }) => query),
  ]),
];

describe('boards and alert rules', () => {
  test('name only metrics that docs/metrics.md lists', () => {
    const named = expressions.flatMap((expression) => [...metricsNamedIn(expression)]);
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((name) => !listed.has(name))).toEqual([]);
  });

  test('name only series that the rules record', () => {
    const used = expressions.flatMap((expression) => expression.match(/tollgate:\w+:\w+/g) ?? []);
    expect(used.filter((name) => !recorded.has(name))).toEqual([]);
  });

  test('each metric of the installation is on a board or in a rule', () => {
    const used = new Set(expressions.flatMap((expression) => [...metricsNamedIn(expression)]));
    const unused = [...listed].filter((name) => !used.has(name));
    expect(unused).toEqual(['process_resident_memory_bytes', 'process_open_fds']);
  });

  test('the names of metrics are found in PromQL, histograms by their series, labels not', () => {
    const text =
      'sum by (gen_ai_token_type) (rate(gen_ai_client_token_usage_bucket{gen_ai_request_model="process_x"}[5m])) / tollgate_ready';
    expect([...metricsNamedIn(text)]).toEqual(
      expect.arrayContaining(['gen_ai_client_token_usage', 'tollgate_ready']),
    );
    expect(metricsNamedIn(text)).not.toContain('gen_ai_token_type');
  });
});

test('every alert of the control plane has a row of the runbook in docs/operations.md', () => {
  const rows = read('docs/operations.md')
    .split('\n')
    .map((line) => /^\| (`\w+`(?:, `\w+`)*) \|/.exec(line)?.[1] ?? '')
    .join(' ');
  const without = (names: readonly string[]): string[] =>
    names.filter((name) => !rows.includes(`\`${name}\``));
  expect(without(Object.keys(ALERT_RULES))).toEqual([]);
  expect(without(['drift', 'planted_rule'])).toEqual(['planted_rule']);
});

test('every alert has a severity, a summary and a runbook that docs/operations.md has', () => {
  const anchors = new Set(
    [...read('docs/operations.md').matchAll(/^#+ (.+)$/gm)].map(
      ([, title = '']) =>
        `docs/operations.md#${title
          .toLowerCase()
          .replace(/[^\w\s-]/g, '')
          .replace(/\s/g, '-')}`,
    ),
  );
  expect(alerts.length).toBeGreaterThan(20);
  for (const { alert, labels, annotations } of alerts)
    expect({
      alert,
      severity: labels?.severity,
      isThere: anchors.has(annotations?.runbook ?? ''),
    }).toEqual({ alert, severity: expect.any(String), isThere: true });
});

test('every alert has a unit test in which it fires, and one in which it is silent', () => {
  const judged = ['rules', 'long-rules'].flatMap((name) =>
    ruleTests
      .parse(parse(read(`deploy/prometheus/tollgate.${name}.test.yaml`)))
      .tests.flatMap((each) => each.alert_rule_test),
  );
  const names = alerts.map(({ alert = '' }) => alert);
  const having = (isWanted: (expected: number) => boolean): string[] =>
    judged
      .filter(({ exp_alerts: { length } }) => isWanted(length))
      .map(({ alertname }) => alertname);
  expect([...new Set(having((count) => count > 0))].toSorted()).toEqual(names.toSorted());
  expect([...new Set(having((count) => count === 0))].toSorted()).toEqual(names.toSorted());
});

test('deploy/grafana has the boards of the code, and no other', () => {
  expect(readdirSync(path.join(root, 'deploy/grafana')).toSorted()).toEqual(
    BOARDS.map(({ uid }) => `${uid}.json`).toSorted(),
  );
  for (const board of BOARDS)
    expect(read(`deploy/grafana/${board.uid}.json`)).toBe(boardJson(board));
});

test('no panel lies over another, and each explains itself', () => {
  for (const board of BOARDS) {
    const { panels } = z
      .object({
        panels: z.array(
          z.object({
            description: z.string().min(5),
            gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
          }),
        ),
      })
      .parse(JSON.parse(boardJson(board)));
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos }) => gridPos.x + gridPos.w))).toBeLessThanOrEqual(24);
  }
});
