import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './test/rig/longest-first.ts';

/**
 * `vitest` runs the gate's tests, `vitest --mode release` those in `*.release.test.ts`, and `vitest --mode full` both
 * and those in `*.full.test.ts`.
 */
const notInTheGate = ['**/*.full.test.ts', '**/*.release.test.ts'];

/**
 * Rooms whose tests start no process, open no database and load no native code. Their files share processes, which saves
 * each of them the start of one and the loading of the same modules.
 */
const pureRooms = [
  'src/{kit,testing}',
  'src/scheduler/{core,contract,coordinator}',
  'src/scheduler/store/memory',
  'src/tasks/flow',
  'src/sql/plan',
  // `security` replaces a module in a test, which the others would see.
  'src/edge/{grpc,http,read}',
  'src/node/config',
  'dashboard',
];

export default defineConfig(({ mode }) => {
  const ending = `*${mode === 'release' ? '.release' : ''}.test.ts`;
  const exclude = [
    ...configDefaults.exclude,
    ...(mode === 'full' || mode === 'release' ? [] : notInTheGate),
  ];
  const pureFiles = pureRooms.map((room) => `${room}/**/${ending}`);
  const ofBoth = {
    setupFiles: [
      'test/rig/child-coverage.ts',
      ...(mode === 'full' ? [] : ['test/rig/fixed-seed.ts']),
    ],
    pool: 'forks' as const,
    // Tests of processes wait for a third of their time: three files at once keep two processors busy.
    maxWorkers: 3,
    restoreMocks: true,
    // Room for a busy machine; a test that hangs still ends.
    testTimeout: mode === 'release' ? 120_000 : 60_000,
    hookTimeout: 120_000,
  };
  return {
    test: {
      // Here and not in the projects: one PostgreSQL serves them all.
      globalSetup: 'test/rig/postgres-server.ts',
      sequence: { sequencer: LongestFirst },
      projects: [
        {
          test: {
            ...ofBoth,
            name: 'processes',
            include: [`{src,test,examples,dashboard}/**/${ending}`],
            exclude: [...exclude, ...pureFiles],
          },
        },
        {
          test: {
            ...ofBoth,
            name: 'pure',
            include: pureFiles,
            exclude,
            isolate: false,
          },
        },
      ],
      coverage: {
        include: ['src/**/*.ts'],
        exclude: ['**/*.test.ts', '**/gen/**'],
        reporter: ['json'],
        reportsDirectory: 'coverage/tests',
      },
    },
  };
});
