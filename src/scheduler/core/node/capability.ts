/**
 * What nodes offer and what tasks ask of them. A node advertises executors and capabilities; a
 * placement tests them. One rule decides both questions, "may it run here" and "what is missing
 * here", so that the answer to "why is it waiting" is never at odds with the scheduler.
 */
import type {
  Capabilities,
  CapabilityTest,
  CapabilityValue,
  Operator,
  Placement,
} from '../document/document.ts';
import { described, printable } from '../document/text.ts';
import type { NodeId } from '../ids.ts';

/** No test at all: shared, so that the default placement costs one comparison. */
export const NO_TESTS: Readonly<Record<string, CapabilityTest>> = Object.freeze({});

/** As much of a node as placement looks at. */
export interface Candidate {
  readonly id: NodeId;
  readonly executors: ReadonlySet<string> | readonly string[];
  readonly capabilities: Capabilities;
}

/** May a task with this placement and executor run on this node? Deny wins. */
export function meets(placement: Placement, executor: string, node: Candidate): boolean {
  const { executors, executorsAny, capabilities, allowedNodes, forbiddenNodes } = placement;
  return (
    offers(node, executor) &&
    (forbiddenNodes.length === 0 || !forbiddenNodes.includes(node.id)) &&
    (allowedNodes === null || allowedNodes.includes(node.id)) &&
    executors.every((each) => offers(node, each)) &&
    (executorsAny.length === 0 || executorsAny.some((each) => offers(node, each))) &&
    (capabilities === NO_TESTS ||
      Object.entries(capabilities).every(
        ([name, test]) => unmet(test, valueOf(node, name)) === null,
      ))
  );
}

/** Whether a capability passes a test, by the rules of a task's placement. */
export function hasCapability(
  capabilities: Capabilities,
  name: string,
  test: CapabilityTest,
): boolean {
  return unmet(test, Object.hasOwn(capabilities, name) ? capabilities[name] : undefined) === null;
}

/** What this node lacks, each as words that fit into "node w-1 lacks: ...". Empty if it meets all. */
export function lacks(placement: Placement, executor: string, node: Candidate): readonly string[] {
  const { executors, executorsAny, capabilities, allowedNodes, forbiddenNodes } = placement;
  const found: string[] = [];
  if (forbiddenNodes.includes(node.id)) found.push('node is forbidden');
  if (allowedNodes !== null && !allowedNodes.includes(node.id)) {
    found.push('node is not in allowedNodes');
  }
  for (const each of new Set([executor, ...executors])) {
    if (!offers(node, each)) found.push(`executor ${described(each)}`);
  }
  if (executorsAny.length > 0 && !executorsAny.some((each) => offers(node, each))) {
    found.push(`one of the executors ${executorsAny.map(described).join(', ')}`);
  }
  for (const [name, test] of Object.entries(capabilities)) {
    const value = valueOf(node, name);
    const need = unmet(test, value);
    if (need === null) continue;
    const state = value === undefined ? 'is missing' : `is ${shown(value)}`;
    found.push(`capability ${printable(name, 60)} ${state}, needs ${need}`);
  }
  return found;
}

/** One thing that a placement asks for, beside what a node has. */
export interface Need {
  /** `gpu = 'nvidia'`, `cpu >= 4`, `executor 'train'`. */
  readonly need: string;
  /** The value that the node offers, or `missing`. */
  readonly seen: string;
  readonly isMet: boolean;
}

/** Everything that is asked of a node, met or not, in one order for all nodes. */
export function needs(placement: Placement, executor: string, node: Candidate): readonly Need[] {
  const { executors, executorsAny, capabilities, allowedNodes, forbiddenNodes } = placement;
  const found: Need[] = [...new Set([executor, ...executors])].map((each) => {
    const isMet = offers(node, each);
    return { need: `executor ${described(each)}`, seen: isMet ? 'offered' : 'missing', isMet };
  });
  if (executorsAny.length > 0) {
    const offered = executorsAny.filter((each) => offers(node, each));
    found.push({
      need: `one of the executors ${executorsAny.map(described).join(', ')}`,
      seen: offered.length === 0 ? 'missing' : offered.map(described).join(', '),
      isMet: offered.length > 0,
    });
  }
  if (allowedNodes !== null || forbiddenNodes.length > 0) {
    const isMet =
      !forbiddenNodes.includes(node.id) &&
      (allowedNodes === null || allowedNodes.includes(node.id));
    found.push({ need: 'node is allowed', seen: isMet ? 'allowed' : 'not allowed', isMet });
  }
  for (const [name, test] of Object.entries(capabilities)) {
    const value = valueOf(node, name);
    found.push({
      need: `${printable(name, 60)} ${testText(test)}`,
      seen: value === undefined ? 'missing' : shown(value),
      isMet: unmet(test, value) === null,
    });
  }
  return found;
}

function testText(test: CapabilityTest): string {
  if (typeof test === 'number') return needed('>=', test);
  if (typeof test !== 'object') return `= ${shown(test)}`;
  if (isList(test)) return `has ${shown(test)}`;
  return Object.entries(test)
    .map(([operator, operand]) => `${operator} ${shown(operand)}`)
    .join(' and ');
}

function offers(node: Candidate, executor: string): boolean {
  const { executors } = node;
  return 'has' in executors ? executors.has(executor) : executors.includes(executor);
}

/** Own values only: a task that asks for `constructor` must not find what objects inherit. */
function valueOf(node: Candidate, name: string): CapabilityValue | undefined {
  return Object.hasOwn(node.capabilities, name) ? node.capabilities[name] : undefined;
}

/** The first part of the test that the value fails, in words; null when it passes. */
function unmet(test: CapabilityTest, value: CapabilityValue | undefined): string | null {
  if (typeof test === 'number') return failing('>=', test, value);
  if (typeof test !== 'object') return failing('=', test, value);
  if (isList(test)) return failing('has', test, value);
  for (const [operator, operand] of Object.entries(test)) {
    const need = failing(operator as Operator, operand, value);
    if (need !== null) return need;
  }
  return null;
}

function failing(
  operator: Operator,
  operand: CapabilityValue,
  value: CapabilityValue | undefined,
): string | null {
  return passes(operator, operand, value) ? null : needed(operator, operand);
}

/** Where lists are compared, a single value is a list of one. A missing capability passes `!=` and nothing else. */
function passes(
  operator: Operator,
  operand: CapabilityValue,
  value: CapabilityValue | undefined,
): boolean {
  if (value === undefined) return operator === '!=';
  switch (operator) {
    case '=':
      return same(value, operand);
    case '!=':
      return !same(value, operand);
    case '>':
      return areNumbers(value, operand) && value > operand;
    case '>=':
      return areNumbers(value, operand) && value >= operand;
    case '<':
      return areNumbers(value, operand) && value < operand;
    case '<=':
      return areNumbers(value, operand) && value <= operand;
    case 'in':
      return listed(value).some((each) => listed(operand).includes(each));
    case 'has':
      return listed(operand).every((each) => listed(value).includes(each));
    default:
      return false;
  }
}

function areNumbers(left: CapabilityValue, right: CapabilityValue): boolean {
  return typeof left === 'number' && typeof right === 'number';
}

/** Lists are sets here: neither order nor repetition counts. */
function same(left: CapabilityValue, right: CapabilityValue): boolean {
  if (!isList(left) || !isList(right)) return left === right;
  return left.every((each) => right.includes(each)) && right.every((each) => left.includes(each));
}

function isList(value: CapabilityTest): value is readonly (string | number)[] {
  return Array.isArray(value);
}

function listed(value: CapabilityValue): readonly (string | number | boolean)[] {
  return isList(value) ? value : [value];
}

function needed(operator: Operator, operand: CapabilityValue): string {
  switch (operator) {
    case '=':
      return shown(operand);
    case '!=':
      return `anything but ${shown(operand)}`;
    case 'in':
      return `one of ${shown(operand)}`;
    case 'has':
      return isList(operand) ? `all of ${shown(operand)}` : `${shown(operand)} among its values`;
    case '>':
    case '>=':
    case '<':
    case '<=':
      return `${operator} ${shown(operand)}`;
    default:
      return shown(operand);
  }
}

function shown(value: CapabilityValue): string {
  if (!isList(value)) return described(value);
  const first = value.slice(0, 10).map(described).join(', ');
  return value.length > 10 ? `[${first}, ... ${value.length - 10} more]` : `[${first}]`;
}
