/** Figures in the text format of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats. */
import type { Histogram } from './histogram.ts';

export type MetricLabels = Readonly<Record<string, string | number>>;
export type MetricSample = readonly [MetricLabels, number];

export class MetricsPage {
  static readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #lines: string[] = [];

  gauge(name: string, help: string, value: number | readonly MetricSample[]): void {
    this.#write('gauge', name, help, value);
  }

  counter(name: string, help: string, value: number | readonly MetricSample[]): void {
    this.#write('counter', name, help, value);
  }

  histogram(name: string, help: string, histogram: Histogram): void {
    this.#head('histogram', name, help);
    for (const { labels, counts, sum } of histogram.series()) {
      let below = 0;
      counts.forEach((count, index) => {
        below += count;
        const le = histogram.bounds[index] ?? '+Inf';
        this.#lines.push(`${name}_bucket${labelText({ ...labels, le })} ${below}`);
      });
      this.#lines.push(`${name}_sum${labelText(labels)} ${sum}`);
      this.#lines.push(`${name}_count${labelText(labels)} ${below}`);
    }
  }

  text(): string {
    return `${this.#lines.join('\n')}\n`;
  }

  #head(type: string, name: string, help: string): void {
    this.#lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
  }

  #write(type: string, name: string, help: string, value: number | readonly MetricSample[]): void {
    const samples: readonly MetricSample[] = typeof value === 'number' ? [[{}, value]] : value;
    this.#head(type, name, help);
    for (const [labels, number] of samples)
      this.#lines.push(`${name}${labelText(labels)} ${number}`);
  }
}

function labelText(labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => {
    const text = String(value).replaceAll('\\', '\\\\').replaceAll('"', '\\"');
    return `${name}="${text.replaceAll('\n', '\\n')}"`;
  });
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}
