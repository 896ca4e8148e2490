/** Reads capabilities: what a node says of itself, and what a task asks for. */
import { isObject } from '../json.ts';
import {
  OPERATORS,
  type Capabilities,
  type CapabilityTest,
  type CapabilityValue,
  type Operator,
} from '../document/document.ts';
import { NAMES_MAX, readName, type Path } from '../document/reader.ts';
import { below, refuse, refuseSize } from '../document/refuse.ts';
import { didYouMean } from '../document/spelling.ts';
import { described, nameFault } from '../document/text.ts';
import { weigh } from '../document/weigh.ts';

/** All capabilities of a node together, as JSON. They are kept in memory and shown to people. */
const CAPABILITIES_BYTES_MAX = 64 * 1024;

/** What a node advertises. `path` is its position in the caller's input. */
export function parseCapabilities(value: unknown, path = ''): Capabilities {
  if (!isObject(value)) {
    refuse(path, `Capabilities must be an object, not ${described(value)}.`);
  }
  weigh(value, path, 'The capability map', 1, CAPABILITIES_BYTES_MAX);
  const entries = Object.entries(value);
  if (entries.length > NAMES_MAX) {
    refuseSize(
      path,
      `${entries.length} capabilities; the limit is ${NAMES_MAX}.`,
      'Put values that belong together into one list.',
    );
  }
  return Object.fromEntries(
    entries.map(([name, each]) => {
      const at = (): string => below(path, name);
      return [readName(name, at), readValue(each, at)];
    }),
  );
}

/** What a task asks of one capability: a value, or an object of operators that must all hold. */
export function readCapabilityTest(value: unknown, path: Path): CapabilityTest {
  if (!isObject(value)) {
    return readOperand(value, path);
  }
  const entries = Object.entries(value);
  if (entries.length === 0) {
    refuse(path(), 'An empty object has no operator.', `The operators are ${OPERATORS.join(' ')}.`);
  }
  const tests = entries.map(([name, operand]): [Operator, CapabilityValue] => {
    const at = (): string => below(path(), name);
    const operator = OPERATORS.find((each) => each === name);
    if (operator === undefined) {
      refuse(
        at(),
        `${described(name)} is not a valid operator.${didYouMean(name, OPERATORS)}`,
        `The operators are ${OPERATORS.join(' ')}.`,
      );
    }
    return [operator, checkedOperand(operator, readOperand(operand, at), at)];
  });
  return Object.fromEntries(tests.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function checkedOperand(operator: Operator, operand: CapabilityValue, path: Path): CapabilityValue {
  if (operator === '=' || operator === '!=') return operand;
  if (operator === 'in') {
    if (typeof operand === 'object') return operand;
    return refuse(path(), `'in' takes a list, not ${described(operand)}.`);
  }
  if (operator === 'has') {
    if (typeof operand !== 'boolean') return operand;
    return refuse(
      path(),
      "'has' takes text, a number or a list of them.",
      "Use '=' for true and false.",
    );
  }
  if (typeof operand === 'number') return operand;
  return refuse(path(), `'${operator}' takes a number, not ${described(operand)}.`);
}

function readOperand(value: unknown, path: Path): CapabilityValue {
  const operand = readValue(value, path);
  if (!Array.isArray(operand) || operand.length > 0) return operand;
  return refuse(path(), 'An empty list has no effect.', 'Name at least one value.');
}

function readValue(value: unknown, path: Path): CapabilityValue {
  if (typeof value === 'boolean') return value;
  if (!Array.isArray(value)) return readScalar(value, path);
  if (value.length > NAMES_MAX) {
    refuse(path(), `Has ${value.length} entries; the limit is ${NAMES_MAX}.`);
  }
  return Array.from(value as readonly unknown[], (each, at) =>
    readScalar(each, () => below(path(), at)),
  );
}

function readScalar(value: unknown, path: Path): string | number {
  if (typeof value === 'number' && Number.isFinite(value)) return value === 0 ? 0 : value;
  if (typeof value !== 'string') {
    refuse(
      path(),
      `${described(value)} is not a valid capability value.`,
      'Use text, a number, true, false, or a list of texts and numbers.',
    );
  }
  const fault = value === '' ? null : nameFault(value);
  if (fault !== null) refuse(path(), `The text ${described(value)} ${fault}.`);
  return value;
}
