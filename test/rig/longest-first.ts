/** The order of test files: those that start clusters first, so that no long file is left when all others are done. */
import { relative } from 'node:path';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** Folders by how long their files take, longest first. */
const FOLDERS: readonly string[] = ['test/cluster/', 'test/sim/', 'test/', 'src/'];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification): number => {
      const file = relative(project.config.root, moduleId);
      return project.config.isolate
        ? FOLDERS.findIndex((folder) => file.startsWith(folder))
        : FOLDERS.length;
    };
    // What an earlier run took decides within a folder, and the size of a file if there was none.
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array's
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}
