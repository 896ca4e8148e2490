import { expect, test } from 'vitest';
import { parse } from 'yaml';
import text from '../../deploy/alerts.yaml?raw';
import { readFigures } from './figures.ts';
import { RULES, alertsOf } from './health-alerts.ts';

const inWords = (value: number): string => String(value);
const stateOf = (figures: string, name: string, hasLeader = true): string | undefined =>
  alertsOf(readFigures(figures), hasLeader, inWords).find((alert) => alert.name === name)?.state;

test('every alert of the page is a rule of deploy/alerts.yaml, with the same limit', () => {
  const { groups } = parse(text) as { groups: { rules: { alert: string; expr: string }[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  expect(RULES.length).toBeGreaterThan(0);
  for (const { name, limit } of RULES) {
    const expr = rules.find(({ alert }) => alert === name)?.expr ?? 'missing';
    // "readable == 0" is "unreadable > 0".
    const isSame = expr.endsWith(`> ${limit}`) || (limit === 0 && expr.endsWith('== 0'));
    expect({ name, expr, isSame }).toEqual({ name, expr, isSame: true });
  }
});

test.each([
  ['millrace_unfit_task_seconds 301', 'MillraceTaskFitsNowhere', 'firing'],
  ['millrace_unfit_task_seconds NaN', 'MillraceTaskFitsNowhere', 'ok'],
  ['millrace_readable 0', 'MillraceStoreUnreadable', 'firing'],
  ['millrace_readable 1', 'MillraceStoreUnreadable', 'ok'],
  ['', 'MillraceBacklog', 'unknown'],
  ['millrace_nodes{status="dead"} 2', 'MillraceNodesLost', 'firing'],
  [
    'millrace_commit_seconds_bucket{le="0.1"} 90\nmillrace_commit_seconds_bucket{le="1"} 100\nmillrace_commit_seconds_bucket{le="+Inf"} 100',
    'MillraceCommitsAreSlow',
    'firing',
  ],
])('%j makes %s %s', (figures, name, state) => {
  expect(stateOf(figures, name)).toBe(state);
});

test('without a leader that is said first', () => {
  expect(stateOf('', 'MillraceNoLeader', false)).toBe('firing');
  expect(stateOf('', 'MillraceNoLeader')).toBe('ok');
});
