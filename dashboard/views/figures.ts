/** The text that Prometheus reads, as numbers. */
export interface Figures {
  readonly text: string;
  value(name: string, labels?: Readonly<Record<string, string>>): number | null;
  byLabel(name: string, label: string): readonly (readonly [string, number])[];
  /** Of a histogram of seconds: "half within 5 ms, 99 % within 100 ms". Null if nothing was counted. */
  quantiles(name: string): string | null;
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
    quantiles: (name) => {
      const buckets = samples.filter((each) => each.name === `${name}_bucket`);
      const total = buckets.at(-1)?.value ?? 0;
      if (total === 0) return null;
      const within = (part: number): string => {
        const bound = buckets.find(({ value }) => value >= total * part)?.labels['le'];
        const last = buckets.at(-2)?.labels['le'];
        return bound === '+Inf' ? `over ${seconds(last)}` : `within ${seconds(bound)}`;
      };
      return `half ${within(0.5)}, 99 % ${within(0.99)}`;
    },
    byLabel: (name, label) =>
      samples.flatMap((each) =>
        each.name === name && each.labels[label] !== undefined
          ? [[each.labels[label], each.value] as const]
          : [],
      ),
  };
}

function seconds(bound: string | undefined): string {
  const value = Number(bound);
  return value < 1 ? `${value * 1_000} ms` : `${value} s`;
}

function labelsIn(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', value = '']) => [
      key,
      value,
    ]),
  );
}
