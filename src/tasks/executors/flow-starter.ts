/** Runs the first task of a job that was started by the name of its flow: it applies the flow's schema to the input. */
import { flowExecutor, isId, isObject } from '../../scheduler/core/index.ts';
import type { FlowDeclaration, FlowStart, Json } from '../../scheduler/core/index.ts';
import type { Executor, FlowDefinition } from './executor.ts';
import { Fields } from './fields.ts';

interface FlowStarter {
  readonly declaration: FlowDeclaration;
  readonly executor: Executor;
  /** The length of the declaration as JSON. */
  readonly chars: number;
}

/** Null for a flow that cannot be started by its name: hand-written, or with too long a name. */
export function flowStarter(flow: FlowDefinition): FlowStarter | null {
  const name = flowExecutor(flow.name);
  if (flow.declaration === undefined || !isId(name)) return null;
  const declaration = flow.declaration();
  return {
    declaration,
    executor: { name, run: (input) => flow.startInput?.(startOf(input)) },
    chars: JSON.stringify(declaration).length,
  };
}

function startOf(input: Json): FlowStart {
  const fields = new Fields(input, ['input', 'unchanged', 'assumed']);
  const unchanged = fields.list('unchanged') ?? [];
  const assumed = (fields.list('assumed') ?? []).map((each) => {
    const { path, value } = isObject(each) ? each : {};
    return { path: typeof path === 'string' ? path : '', ...(value !== undefined && { value }) };
  });
  return { input: fields.value('input') ?? null, unchanged: unchanged.map(String), assumed };
}
