import { configDefaults, defineConfig } from 'vitest/config';

/**
 * `vitest` runs the gate's tests, `vitest --mode release` those in `*.release.test.ts`, and `vitest --mode full` both
 * and those in `*.full.test.ts`.
 */
const notInTheGate = ['**/*.full.test.ts', '**/*.release.test.ts'];

export default defineConfig(({ mode }) => ({
  test: {
    include: [`{src,test,examples}/**/*${mode === 'release' ? '.release' : ''}.test.ts`],
    exclude: [
      ...configDefaults.exclude,
      ...(mode === 'full' || mode === 'release' ? [] : notInTheGate),
    ],
    globalSetup: 'test/rig/postgres-server.ts',
    setupFiles: [
      'test/rig/child-coverage.ts',
      ...(mode === 'full' ? [] : ['test/rig/fixed-seed.ts']),
    ],
    // A process per file: native code that crashes takes one file with it, not the run.
    pool: 'forks',
    maxWorkers: 2,
    restoreMocks: true,
    // Room for a busy machine; a test that hangs still ends.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    coverage: {
      include: ['src/**/*.ts'],
      exclude: ['**/*.test.ts', '**/gen/**'],
      reporter: ['json'],
      reportsDirectory: 'coverage/tests',
    },
  },
}));
