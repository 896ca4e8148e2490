/**
 * Tables: the catalog file, paths and globs, allowed roots, and pinned files. This room decides which files a query
 * reads and detects changes to them; the engine reads them.
 */
export type * from './catalog-port.ts';
export { CatalogFile } from './catalog-file.ts';
export { Catalog } from './catalog.ts';
export { Pins } from './pin.ts';
export type { Pin } from './pin.ts';
export { allowedPaths } from './roots.ts';
export type { WithoutRoots } from './roots.ts';
