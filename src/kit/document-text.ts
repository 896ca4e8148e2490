/** Text that people write, JSON or YAML, with the positions of its values. */
import { jsonFaultAt } from './json-fault.ts';
import { jsonPlace } from './json-place.ts';
import { parseYaml } from './yaml-text.ts';

export interface TextValue {
  readonly value: unknown;
  /** The offset of what the keys lead to, or of the nearest thing around it. */
  readonly place: (keys: readonly string[]) => number;
}

export interface TextFault {
  readonly offset: number;
  /** A sentence. */
  readonly message: string;
}

/**
 * The values in a text, or what is wrong with it. One value, unless it is YAML with several documents; none when
 * it is empty. For text that is meant to be JSON, the error says where it is not.
 */
export async function parseDocumentText(
  text: string,
  isMeantAsJson: boolean,
): Promise<readonly TextValue[] | TextFault> {
  const json = parsedJson(text);
  if (json !== undefined) {
    return [{ value: json.value, place: (keys) => jsonPlace(text, keys) }];
  }
  if (isMeantAsJson && text.trim() !== '') {
    return { offset: jsonFaultAt(text), message: 'The text stops being JSON here.' };
  }
  const values = await parseYaml(text);
  if (!('message' in values)) return values;
  const message = `The text is neither JSON nor YAML: ${values.message}`;
  return { offset: values.offset, message };
}

/** As an editor counts, from 1: `LINE:COLUMN`. */
export function editorPlace(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return `${line}:${offset - before.lastIndexOf('\n')}`;
}

/** The keys of a JSON Pointer; none when it is something else. */
export function pointerKeys(pointer: string): readonly string[] {
  if (!pointer.startsWith('/')) return [];
  const tokens = pointer.slice(1).split('/');
  return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function parsedJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
