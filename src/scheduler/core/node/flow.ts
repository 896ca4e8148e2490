/**
 * Flows as workers publish them, so that a job can be started by the name of a flow and an input alone. A node
 * advertises a flow among its executors as `flow:NAME`: that executor applies the flow's own schema to an input.
 */
import { NAMES_MAX } from '../document/reader.ts';
import { isMatched } from '../document/event-match.ts';
import { readEvents } from '../document/sent-event.ts';
import type { StartEvent } from '../document/sent-event.ts';
import { below, refuse, refuseSize } from '../document/refuse.ts';
import { didYouMean } from '../document/spelling.ts';
import { described } from '../document/text.ts';
import { weigh } from '../document/weigh.ts';
import { isId } from '../ids.ts';
import { isObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';

export const FLOW_PREFIX = 'flow:';

/** What a node advertises for a flow of this name. */
export function flowExecutor(name: string): string {
  return FLOW_PREFIX + name;
}

export function isFlowExecutor(executor: string): boolean {
  return executor.startsWith(FLOW_PREFIX);
}

/** The capability in which a node lists the versions of its flows, each as `NAME@VERSION`. */
export const FLOWS_CAPABILITY = 'flows';

export interface FlowDeclaration {
  readonly name: string;
  /** Identifies graph and schema: two declarations of one version are the same. */
  readonly version: string;
  /** JSON Schema of the input, as far as it could be made: `{}` allows anything. Null for a flow without input. */
  readonly input: JsonObject | null;
  /** The job document, with gaps that the input fills: see `document/flow-document.ts`. The events that start the flow
   * stand in it too, as `on`: a leader of an earlier version can store it. */
  readonly template: JsonObject;
}

/** The events that start it. */
export function startsOf(flow: FlowDeclaration): readonly StartEvent[] {
  const known = STARTS.get(flow);
  if (known !== undefined) return known;
  const starts = readEvents(flow.template[EVENTS_FIELD], '');
  STARTS.set(flow, starts);
  return starts;
}

/** Asked for each event that is sent. */
const STARTS = new WeakMap<FlowDeclaration, readonly StartEvent[]>();

/** Whether an event of this name and data starts it. */
export function isStartedBy(flow: FlowDeclaration, event: string, data: Json): boolean {
  return startsOf(flow).some((start) => start.event === event && isMatched(start.match, data));
}

export const EVENTS_FIELD = 'on';

/** What it is given of the data of an event: nothing if it takes no input. A task of batches takes a list, in which data that is
 * not one is an item. */
export function eventInput<Data>(
  { input, template }: FlowDeclaration,
  data: Data,
): { readonly input?: Data | readonly Data[] } {
  if (input === null) return {};
  const takesItems = isObject(template['batch']) && !Array.isArray(data);
  return { input: takesItems ? [data] : data };
}

/** The schedules that it declares, each as `ScheduleService.put` takes it, with an `id` unless it is the flow's name. They
 * are checked when the leader makes schedules of them. */
export function schedulesOf({ template }: FlowDeclaration): readonly JsonObject[] {
  return (template[SCHEDULES_FIELD] ?? []) as readonly JsonObject[];
}

export const SCHEDULES_FIELD = 'schedules';
/** That one flow declares. */
export const FLOW_SCHEDULES_MAX = 32;

/** Of all flows of a node. A template holds no more than a job document. */
export const FLOWS_BYTES_MAX: number = 4 * 1024 * 1024;

const FIELDS = ['name', 'version', 'input', 'template'];
const VERSION = /^[0-9a-f]{8,64}$/;

/** Reads declarations of unknown origin. Templates are checked when a job is made of them. */
export function parseFlows(value: unknown, path = ''): readonly FlowDeclaration[] {
  if (!Array.isArray(value)) return refuse(path, `Must be a list, not ${described(value)}.`);
  if (value.length > NAMES_MAX)
    refuseSize(
      path,
      `It has ${value.length} entries; the limit is ${NAMES_MAX}.`,
      'Publish fewer.',
    );
  weigh(value, path, 'The list of flows', 3, FLOWS_BYTES_MAX);
  const names = new Set<string>();
  return (value as readonly unknown[]).map((each, at) => {
    const declaration = readFlow(each, below(path, at));
    if (names.has(declaration.name))
      refuse(below(path, at), `The flow '${declaration.name}' is declared twice.`);
    names.add(declaration.name);
    return declaration;
  });
}

function readFlow(value: unknown, path: string): FlowDeclaration {
  if (!isObject(value)) return refuse(path, `Must be an object, not ${described(value)}.`);
  for (const field of Object.keys(value))
    if (!FIELDS.includes(field))
      refuse(below(path, field), `There is no such field.${didYouMean(field, FIELDS)}`);
  const { name, version, input, template } = value;
  if (typeof name !== 'string' || !isId(name) || !isId(flowExecutor(name)))
    return refuse(below(path, 'name'), `${described(name)} is not a valid flow name.`);
  if (typeof version !== 'string' || !VERSION.test(version))
    return refuse(below(path, 'version'), `${described(version)} is not a valid version.`);
  if (input !== null && !isObject(input))
    return refuse(below(path, 'input'), 'Must be a JSON Schema object, or null.');
  if (!isObject(template)) return refuse(below(path, 'template'), 'Must be an object.');
  readEvents(template[EVENTS_FIELD], `${path}/template/${EVENTS_FIELD}`);
  checkSchedules(template[SCHEDULES_FIELD], `${path}/template/${SCHEDULES_FIELD}`);
  return { name, version, input: input as JsonObject | null, template: template as JsonObject };
}

function checkSchedules(value: unknown, path: string): void {
  if (value === undefined) return;
  const isList = Array.isArray(value) && value.length > 0 && value.every(isObject);
  if (!isList) return refuse(path, `Must be a list of schedules, not ${described(value)}.`);
  if (value.length <= FLOW_SCHEDULES_MAX) return;
  const what = `It declares ${value.length} schedules; the limit is ${FLOW_SCHEDULES_MAX}.`;
  refuseSize(path, what, 'Declare fewer, or put the others with a client.');
}
