/** Reads plans of every version of the format. A plan outlives the version of Millrace that stored it. */
import { isObject } from '../../../scheduler/core/index.ts';
import type { QueryPlan } from './plan.ts';

/** Reads a plan that this cluster stored, so its shape is trusted. */
export function readStoredPlan(text: string): QueryPlan {
  return upgradePlan(JSON.parse(text)) as QueryPlan;
}

/**
 * Returns a version 1 plan in the shape of version 2, and any other value unchanged. Version 1 called
 * `nonDeterministic` `unstable`, and the `bounds` of a split `cuts`.
 */
export function upgradePlan(plan: unknown): unknown {
  if (!isObject(plan) || plan['version'] !== 1) return plan;
  return { ...plan, version: 2, stages: eachOf(plan['stages'], upgradeStage) };
}

function upgradeStage(stage: Fields): Fields {
  const { fragment } = stage;
  const renamed = rename(stage, 'unstable', 'nonDeterministic');
  if (!isObject(fragment)) return renamed;
  return { ...renamed, fragment: { ...fragment, scans: eachOf(fragment['scans'], upgradeScan) } };
}

function upgradeScan(scan: Fields): Fields {
  const { split } = scan;
  return isObject(split) ? { ...scan, split: rename(split, 'cuts', 'bounds') } : scan;
}

type Fields = Readonly<Record<string, unknown>>;

function eachOf(list: unknown, upgrade: (item: Fields) => Fields): unknown {
  return Array.isArray(list)
    ? list.map((item: unknown) => (isObject(item) ? upgrade(item) : item))
    : list;
}

/** Keeps the order of the fields. */
function rename(fields: Fields, from: string, to: string): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name === from ? to : name, value]),
  );
}
