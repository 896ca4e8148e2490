import type { CommandModule } from './command.ts';

interface CatalogueEntry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: CommandModule }>;
}

/** Every command there is, in the order in which `millrace --help` shows them. */
export const catalogue: readonly CatalogueEntry[] = [
  {
    name: 'demo',
    summary: 'show what Millrace does, on this machine, with nothing to set up',
    load: () => import('./commands/demo.ts'),
  },
  {
    name: 'migrate',
    summary: 'bring the tables of a store up to date, or back',
    load: () => import('./commands/migrate.ts'),
  },
  {
    name: 'export',
    summary: 'write everything in a store to a file',
    load: () => import('./commands/export.ts'),
  },
  {
    name: 'import',
    summary: 'fill an empty store from such a file',
    load: () => import('./commands/import.ts'),
  },
];
