/** Rules about words: the vocabulary of the field, and the form of decision records. */
import { type Finding, isRule, lineAt, matches, type Rule, type TextFile } from './rule.ts';

interface RetiredWord {
  readonly pattern: RegExp;
  readonly use: string;
  /** Files in which the word means something else. */
  readonly except?: RegExp;
}

/** Words that Millrace once had of its own, and the standard terms that replace them. */
const retired: readonly RetiredWord[] = [
  { pattern: /\breign(?:s|ed)?\b/gi, use: 'leader term' },
  { pattern: /\b\w*desks?\b/gi, use: 'JobService, WorkerService, ScheduleService' },
  { pattern: /(?<!back[- ])\boffices?\b/gi, use: 'LeaderGateway' },
  { pattern: /\bbystanders?\b/gi, use: 'follower' },
  { pattern: /\bseats?\b/gi, use: 'worker supervisor' },
  { pattern: /\bweather\b/gi, use: 'faults, fault injector' },
  {
    pattern: /\bshel(?:f|ves)\b/gi,
    use: 'retained outputs',
    except: /^examples\/order-processing\/|^test\/docs\/examples/,
  },
  { pattern: /\bpatience\b/gi, use: 'retryBudgetMs, responseTimeoutMs or timeoutMultiplier' },
  { pattern: /\bhand(?:ed|s|ing) in\b/gi, use: 'submit' },
  { pattern: /\btold\b/gi, use: 'asked, reported, or who gets what' },
  { pattern: /\bdivided\b/gi, use: 'distributed, partitioned or split' },
  {
    pattern: /\bunstable\b/gi,
    use: 'non-deterministic',
    // Stored rows and version 1 of the plan format have it.
    except:
      /^CHANGELOG\.md$|^docs\/plan-format\.md$|^src\/scheduler\/core\/document\/options|^src\/sql\/plan\/(?:job\/read-plan\.test|physical\/stored-plan)\.ts$/,
  },
  { pattern: /\blet in\b/gi, use: 'admitted, authorised' },
  { pattern: /\bread(?:s|ing)? (?:\w+ ){0,3}back\b/gi, use: 'recover, replay, load' },
  {
    pattern: /\b(?:made|mak(?:e|es|ing)) (?:it |them )?again\b/gi,
    use: 'recomputed, or created again',
  },
  { pattern: /\bput(?:s|ting)? aside\b/gi, use: 'suspended, quarantined' },
  { pattern: /\bdoors?\b/gi, use: 'entry point, listener, index' },
  { pattern: /\bwithout a word\b/gi, use: 'silently' },
  { pattern: /\bhearsay\b|\b(?:one|same) breath\b|\bnobody.s business\b/gi, use: 'plain words' },
  { pattern: /\bthis server stops\b/gi, use: 'the server is shutting down' },
  {
    pattern: /(?<!\bthere )\bis no (?!longer\b|more\b|less\b|fewer\b)\w+/gi,
    use: "'is not a valid ...'",
  },
];

/** Text that cannot change: released migrations are compared by checksum, and locks are generated. */
const isFixed = ({ path }: TextFile): boolean =>
  path.endsWith('.sql') || path === 'package-lock.json' || path === 'LICENSE';

export const vocabulary: Rule = {
  name: 'no retired word is used: the terms are those of the field',
  find: (files) =>
    files
      .filter((file) => !isRule(file) && !isFixed(file))
      .flatMap((file) => [...wordsIn(file), ...wordsInPath(file)]),
};

function wordsIn(file: TextFile): Finding[] {
  return retired
    .filter(({ except }) => except?.test(file.path) !== true)
    .flatMap(({ pattern, use }) => matches(file, pattern, ([word]) => `'${word}': use ${use}`));
}

function wordsInPath({ path }: TextFile): Finding[] {
  const words = path.replaceAll(/[^A-Za-z]+/g, ' ');
  return wordsIn({ path, text: words }).map((finding) => ({ ...finding, line: 1 }));
}

const sections = ['Context', 'Decision', 'Consequences', 'Alternatives considered'];
const index = 'docs/decisions/README.md';

export const decisionRecords: Rule = {
  name: 'a decision record has a numbered title, the four sections and a line in the index',
  find: (files) => {
    const listed = files.find(({ path }) => path === index)?.text ?? '';
    const found = files.flatMap((file) => {
      const [, name = '', number = ''] =
        /^docs\/decisions\/((\d{4})-.*\.md)$/.exec(file.path) ?? [];
      return name === '' ? [] : recordFindings(file, name, Number(number), listed);
    });
    return [...found, ...orderFindings(listed)];
  },
};

function orderFindings(listed: string): Finding[] {
  let last = 0;
  return [...listed.matchAll(/^\| \[(\d+)\]/gm)].flatMap(({ 1: no, index: at }) => {
    const isSorted = Number(no) > last;
    last = Number(no);
    const message = 'the index must be sorted by number';
    return isSorted ? [] : [{ path: index, line: lineAt(listed, at), message }];
  });
}

function recordFindings(file: TextFile, name: string, no: number, listed: string): Finding[] {
  const finding = (line: number, message: string): Finding => ({ path: file.path, line, message });
  const title = new RegExp(`^# ${no}\\. (.+)$`, 'm').exec(file.text)?.[1];
  if (title === undefined) return [finding(1, `the title must be '# ${no}. ' and the decision`)];
  const row = new RegExp(`\\| \\[${no}\\]\\(${name.replaceAll('.', '\\.')}\\) +\\| (.*?) +\\|`);
  const found = [...file.text.matchAll(/^## (.+)$/gm)];
  const other = found.find(([, section], at) => section !== sections[at]);
  return [
    ...(row.exec(listed)?.[1] === title ? [] : [finding(1, `add '${title}' to ${index}`)]),
    ...(other === undefined && found.length === sections.length
      ? []
      : [
          finding(
            lineAt(file.text, other?.index ?? 0),
            `the sections must be ${sections.join(', ')}`,
          ),
        ]),
  ];
}

/** More belongs below the table. */
const CELL_WORDS_MAX = 35;
const LONG_CELL = new RegExp(`(?<=^\\|.*) (?:[^\\s|]+ +){${CELL_WORDS_MAX},}[^\\s|]+ +\\|`, 'gm');

export const tableCells: Rule = {
  name: `no cell of a table has more than ${CELL_WORDS_MAX} words`,
  find: (files) =>
    files
      // Its cells are lists of test files.
      .filter(({ path }) => path.endsWith('.md') && path !== 'docs/coverage.md')
      .flatMap((file) => matches(file, LONG_CELL, ([cell]) => `${cell.trim().slice(0, 40)}...`)),
};

const page = 'docs/architecture.md';

export const namedFiles: Rule = {
  name: `every source file that ${page} names exists`,
  find: (files) =>
    files
      .filter(({ path }) => path === page)
      .flatMap((file) =>
        [...file.text.matchAll(/`([\w/-]+\.ts)`/g)]
          .filter(([, name]) => !files.some(({ path }) => path.endsWith(`/${name}`)))
          .map(({ 1: name, index: at }) => ({
            path: page,
            line: lineAt(file.text, at),
            message: `there is no ${name}`,
          })),
      ),
};
