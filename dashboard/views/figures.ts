/** The text that Prometheus reads, as numbers. */
export interface Figures {
  readonly text: string;
  value(name: string, labels?: Readonly<Record<string, string>>): number | null;
  byLabel(name: string, label: string): readonly (readonly [string, number])[];
  /** Of a histogram: the bound under which so much of it lies. Null if nothing was counted. */
  quantile(name: string, part: number): number | null;
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
  const quantile = (name: string, part: number): number | null => {
    const buckets = samples.filter((each) => each.name === `${name}_bucket`);
    const total = buckets.at(-1)?.value ?? 0;
    const bound = buckets.find(({ value }) => value >= total * part)?.labels['le'];
    return total === 0 ? null : bound === '+Inf' ? Infinity : Number(bound);
  };
  return {
    text,
    quantile,
    value: (name, labels = {}) =>
      samples.find(
        (each) =>
          each.name === name &&
          Object.entries(labels).every(([key, value]) => each.labels[key] === value),
      )?.value ?? null,
    quantiles: (name) => {
      const [half, most] = [quantile(name, 0.5), quantile(name, 0.99)];
      if (half === null || most === null) return null;
      return `half ${within(half)}, 99 % ${within(most)}`;
    },
    byLabel: (name, label) =>
      samples.flatMap((each) =>
        each.name === name && each.labels[label] !== undefined
          ? [[each.labels[label], each.value] as const]
          : [],
      ),
  };
}

function within(bound: number): string {
  if (bound === Infinity) return 'over the largest bound';
  return `within ${bound < 1 ? `${bound * 1_000} ms` : `${bound} s`}`;
}

function labelsIn(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', value = '']) => [
      key,
      value,
    ]),
  );
}
