/** YAML with its places. The package is loaded when a file needs it. */
import type * as yamlPackage from 'yaml';
import type { Document, Node, Pair, YAMLMap, YAMLSeq } from 'yaml';

export interface YamlValue {
  readonly value: unknown;
  /** The offset of what the keys lead to, or of the nearest thing around it. */
  readonly place: (keys: readonly string[]) => number;
}

export interface YamlFault {
  readonly offset: number;
  readonly message: string;
}

/** One value for each document in the text that is not empty, or the first fault. */
export async function parseYaml(text: string): Promise<readonly YamlValue[] | YamlFault> {
  const yaml = await import('yaml');
  const documents = yaml.parseAllDocuments(text);
  if (!Array.isArray(documents)) return [];
  const values: YamlValue[] = [];
  for (const document of documents) {
    const [fault] = document.errors;
    if (fault !== undefined) return { offset: fault.pos[0], message: firstSentence(fault) };
    if (document.contents === null) continue;
    try {
      const value = document.toJS({ maxAliasCount: 100 }) as unknown;
      values.push({ value, place: (keys) => place(yaml, document, keys) });
    } catch (error) {
      return { offset: looseAlias(yaml, document), message: firstSentence(error) };
    }
  }
  return values;
}

/** The first line says what is wrong; the rest draws it, and we add the place. */
function firstSentence(error: unknown): string {
  const [line = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return `${line.replace(/ at line \d+, column \d+:?$/, '').replace(/[:.]$/, '')}.`;
}

type Yaml = typeof yamlPackage;

/** Where an alias stands that leads nowhere; otherwise where the document begins. */
function looseAlias(yaml: Yaml, document: Document.Parsed): number {
  let offset: number | undefined;
  yaml.visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) === undefined) offset ??= startOf(alias);
    },
  });
  return offset ?? document.range[0];
}

function place(yaml: Yaml, document: Document.Parsed, keys: readonly string[]): number {
  let here: unknown = document.contents;
  let shown = startOf(here) ?? 0;
  for (const key of keys) {
    const around = yaml.isAlias(here) ? here.resolve(document) : here;
    if (yaml.isSeq(around)) {
      here = (around as YAMLSeq<Node>).items[Number(key)];
      shown = startOf(here) ?? shown;
    } else if (yaml.isMap(around)) {
      const pair = pairOf(yaml, around, key);
      here = pair?.value;
      const mark = yaml.isScalar(here) ? startOf(here) : startOf(pair?.key);
      shown = mark ?? shown;
    } else return shown;
    if (here === undefined || here === null) return shown;
  }
  return shown;
}

function pairOf(yaml: Yaml, map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => {
    const name: unknown = yaml.isScalar(pair.key) ? pair.key.value : pair.key;
    return String(name) === key;
  });
}

function startOf(node: unknown): number | undefined {
  return (node as { readonly range?: readonly [number, number, number] } | undefined)?.range?.[0];
}
