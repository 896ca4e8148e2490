/** What every process can say of itself: memory, CPU time and how late its event loop is. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { MetricsPage } from './page.ts';

const NANO = 1e-9;

export class ProcessMetrics {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: 20 });

  constructor() {
    this.#delay.enable();
  }

  stop(): void {
    this.#delay.disable();
  }

  write(page: MetricsPage): void {
    const { rss, heapUsed, external } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    page.gauge('process_resident_memory_bytes', 'Resident memory.', rss);
    page.gauge('nodejs_heap_used_bytes', 'Heap in use.', heapUsed);
    page.gauge('nodejs_external_memory_bytes', 'Memory outside the heap.', external);
    page.counter('process_cpu_seconds_total', 'CPU time.', (user + system) / 1e6);
    page.gauge('process_uptime_seconds', 'Time since the start.', process.uptime());
    page.gauge(
      'nodejs_eventloop_delay_seconds',
      'How late the event loop was.',
      [0.5, 0.99, 1].map((quantile) => [
        { quantile },
        this.#delay.percentile(quantile * 100) * NANO,
      ]),
    );
  }
}
