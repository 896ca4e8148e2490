import { expect, test } from 'vitest';
import { Histogram } from './histogram.ts';
import { MetricsPage } from './page.ts';

test('buckets are cumulative, and the last one counts everything', () => {
  const histogram = new Histogram(null, [0.1, 1]);
  for (const seconds of [0.1, 0.5, 5, -1, Number.NaN]) histogram.observe(seconds);
  const page = new MetricsPage();
  page.histogram('wait_seconds', 'Waits.', histogram);
  expect(page.text()).toBe(
    [
      '# HELP wait_seconds Waits.',
      '# TYPE wait_seconds histogram',
      'wait_seconds_bucket{le="0.1"} 1',
      'wait_seconds_bucket{le="1"} 2',
      'wait_seconds_bucket{le="+Inf"} 3',
      'wait_seconds_sum 5.6',
      'wait_seconds_count 3',
      '',
    ].join('\n'),
  );
});

test('label values beyond the hundredth share one series', () => {
  const histogram = new Histogram('executor', [1]);
  for (let n = 0; n < 1_000; n += 1) histogram.observe(0.5, `executor-${n}`);
  const series = histogram.series();
  expect(series).toHaveLength(101);
  expect(series.at(-1)).toEqual({ labels: { executor: 'other' }, counts: [900, 0], sum: 450 });
});

test('a label value cannot end its quotes', () => {
  const histogram = new Histogram('executor', [1]);
  histogram.observe(0.5, 'a"}\n1\\');
  const page = new MetricsPage();
  page.histogram('run_seconds', 'Runs.', histogram);
  expect(page.text()).toContain('run_seconds_count{executor="a\\"}\\n1\\\\"} 1\n');
});
