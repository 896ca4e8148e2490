/** The text that Prometheus reads, as numbers. */
export interface Figures {
  readonly text: string;
  value(name: string, labels?: Readonly<Record<string, string>>): number | null;
  byLabel(name: string, label: string): readonly (readonly [string, number])[];
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;

export function readFigures(text: string): Figures {
  const samples = text.split('\n').flatMap((line): Sample[] => {
    const [, name, labels = '', value] = LINE.exec(line) ?? [];
    return name === undefined ? [] : [{ name, labels: labelsIn(labels), value: Number(value) }];
  });
  return {
    text,
    value: (name, labels = {}) =>
      samples.find(
        (each) =>
          each.name === name &&
          Object.entries(labels).every(([key, value]) => each.labels[key] === value),
      )?.value ?? null,
    byLabel: (name, label) =>
      samples.flatMap((each) =>
        each.name === name && each.labels[label] !== undefined
          ? [[each.labels[label], each.value] as const]
          : [],
      ),
  };
}

function labelsIn(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', value = '']) => [
      key,
      value,
    ]),
  );
}
