/** Counts durations by size, for each value of at most one label. */

/** Seconds, from a fast commit to a long task. */
const DURATION_BOUNDS: readonly number[] = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800,
];

/** Users choose the values of some labels. Each is a series for ever, so further ones share one name. */
const LABEL_VALUES_MAX = 100;
const OTHER = 'other';

interface Series {
  readonly counts: Float64Array;
  sum: number;
}

export interface HistogramSeries {
  readonly labels: Readonly<Record<string, string>>;
  /** One per bound, and one for what is above the last. */
  readonly counts: readonly number[];
  readonly sum: number;
}

export class Histogram {
  readonly bounds: readonly number[];
  readonly #label: string | null;
  readonly #series: Map<string, Series> = new Map();

  /** Without a label there is one series, from the beginning. */
  constructor(label: string | null = null, bounds: readonly number[] = DURATION_BOUNDS) {
    this.bounds = bounds;
    this.#label = label;
    if (label === null) this.#seriesOf('');
  }

  observe(seconds: number, labelValue = ''): void {
    // A clock that was set back is not an observation.
    if (!(seconds >= 0)) return;
    const series = this.#seriesOf(this.#label === null ? '' : labelValue);
    let index = 0;
    while (index < this.bounds.length && seconds > (this.bounds[index] as number)) index += 1;
    series.counts[index] = (series.counts[index] ?? 0) + 1;
    series.sum += seconds;
  }

  series(): readonly HistogramSeries[] {
    const label = this.#label;
    return Array.from(this.#series, ([value, { counts, sum }]) => ({
      labels: label === null ? {} : { [label]: value },
      counts: [...counts],
      sum,
    }));
  }

  #seriesOf(value: string): Series {
    const isFull = this.#series.size >= LABEL_VALUES_MAX && !this.#series.has(value);
    const key = isFull ? OTHER : value;
    let series = this.#series.get(key);
    if (series === undefined) {
      series = { counts: new Float64Array(this.bounds.length + 1), sum: 0 };
      this.#series.set(key, series);
    }
    return series;
  }
}
