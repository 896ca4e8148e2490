/**
 * Workers in tests load these handlers in processes of their own, so they are compiled beside the product. Bundled, because
 * they use pieces of the test rig that the compiler only checks.
 */
import { buildSync } from 'esbuild';

buildSync({
  entryPoints: [
    'test/rig/cluster/modules/fault-handlers.ts',
    'test/rig/cluster/modules/durable-handlers.ts',
    'test/rig/cluster/modules/memory-report.ts',
  ],
  outdir: 'dist/rig/cluster/modules',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  packages: 'external',
});
