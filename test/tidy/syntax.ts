/** Rules over the syntax tree, so that a word in a comment or a string is not mistaken for code. */
import { posix } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import type {
  ArrowFunctionExpression,
  Expression,
  Function,
  FunctionBody,
  Program,
  VisitorObject,
} from 'oxc-parser';
import { type Finding, isGenerated, isTest, isTypeScript, lineAt, roomOf } from './rule.ts';
import type { Rule, TextFile } from './rule.ts';

const functionLinesMax = 70;
const bannedWords = /^(utils?|helpers?|common|managers?)$/;

/** A file's tree, parsed once for all rules. */
const trees = new WeakMap<TextFile, Program>();

function treeOf(file: TextFile): Program {
  const known = trees.get(file);
  if (known !== undefined) return known;
  const tree = parseSync(file.path, file.text).program;
  trees.set(file, tree);
  return tree;
}

type Report = (node: { readonly start: number }, message: string) => void;

/** Walks the tree of every hand-written TypeScript file that `applies` lets through. */
function syntaxRule(
  name: string,
  applies: (file: TextFile) => boolean,
  visitor: (report: Report, file: TextFile) => VisitorObject,
): Rule {
  return {
    name,
    find: (files) =>
      files
        .filter((file) => isTypeScript(file) && !isGenerated(file) && applies(file))
        .flatMap((file) => {
          const findings: Finding[] = [];
          const report: Report = ({ start }, message) =>
            findings.push({ path: file.path, line: lineAt(file.text, start), message });
          new Visitor(visitor(report, file)).visit(treeOf(file));
          return findings;
        }),
  };
}

/** `test.each(...)` gives `test`, `a.b` gives `a`, anything else nothing. */
function firstName(expression: Expression): string | undefined {
  if (expression.type === 'Identifier') return expression.name;
  if (expression.type === 'MemberExpression') return firstName(expression.object);
  if (expression.type === 'CallExpression') return firstName(expression.callee);
  return undefined;
}

/** A function that declares tests is a chapter of a suite; each test in it is measured by itself. */
function declaresTests(body: FunctionBody | Expression | null): boolean {
  return (
    body?.type === 'BlockStatement' &&
    body.body.some(
      (statement) =>
        statement.type === 'ExpressionStatement' &&
        statement.expression.type === 'CallExpression' &&
        /^(test|it|describe)$/.test(firstName(statement.expression) ?? ''),
    )
  );
}

export const functionLength = syntaxRule(
  `a function has at most ${functionLinesMax} lines`,
  () => true,
  (report, file) => {
    const measure = (node: Function | ArrowFunctionExpression): void => {
      const lines = file.text.slice(node.start, node.end).split('\n').length;
      if (lines <= functionLinesMax || declaresTests(node.body)) return;
      report(node, `${lines} lines: a reader cannot see this function whole`);
    };
    return {
      FunctionDeclaration: measure,
      FunctionExpression: measure,
      ArrowFunctionExpression: measure,
    };
  },
);

const wordsOf = (name: string): string[] =>
  name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase());

const bannedIn = (name: string): string | undefined =>
  wordsOf(name).find((word) => bannedWords.test(word));

export const plainNames: Rule = {
  name: 'names say what a thing is: no utils, helpers, common or manager',
  find: (files) => [
    ...files
      .filter((file) => bannedIn(file.path) !== undefined)
      .map(({ path }) => ({ path, line: 1, message: `"${bannedIn(path)}" in a file name` })),
    ...namesInCode.find(files),
  ],
};

const namesInCode = syntaxRule(
  'names in code',
  () => true,
  (report) => {
    /** Names that others chose: `theirs.name`, `import { name as ours }`. */
    const foreign = new Set<number>();
    return {
      MemberExpression: (node) => void (node.computed || foreign.add(node.property.start)),
      ImportSpecifier: (node) => void foreign.add(node.imported.start),
      'Identifier:exit': (node) => {
        const word = foreign.has(node.start) ? undefined : bannedIn(node.name);
        if (word !== undefined)
          report(node, `"${word}" in ${node.name}: name the one thing it does`);
      },
    };
  },
);

export const wholeTests = syntaxRule(
  'all tests run: no only, skip or todo',
  () => true,
  (report) => ({
    MemberExpression(node) {
      if (node.computed || !/^(only|skip|todo)$/.test(node.property.name)) return;
      if (!/^(test|it|describe)$/.test(firstName(node.object) ?? '')) return;
      report(node, `.${node.property.name}: a test that does not always run proves nothing`);
    },
  }),
);

export const noWaiting = syntaxRule(
  'a test waits for a signal or a virtual clock, never for time to pass',
  isTest,
  (report) => ({
    CallExpression(node) {
      const name = node.callee.type === 'Identifier' ? node.callee.name : '';
      if (/^(setTimeout|setInterval|sleep)$/.test(name)) report(node, `${name}() in a test`);
    },
    ImportDeclaration(node) {
      if (/^(node:)?timers(\/promises)?$/.test(node.source.value)) report(node, 'timers in a test');
    },
  }),
);

export const roomImports = syntaxRule(
  'an import enters another room through its index.ts',
  (file) => roomOf(file.path) !== undefined && !isTest(file),
  (report, file) => {
    const enter = (source: { readonly start: number; readonly value: unknown }): void => {
      if (typeof source.value !== 'string' || !source.value.startsWith('.')) return;
      const target = posix.join(posix.dirname(file.path), source.value);
      const room = roomOf(target);
      if (room === undefined || room === roomOf(file.path) || target === `src/${room}/index.ts`)
        return;
      report(source, `${source.value}: import src/${room}/index.ts`);
    };
    return {
      ImportDeclaration: (node) => enter(node.source),
      ExportAllDeclaration: (node) => enter(node.source),
      ExportNamedDeclaration: (node) => void (node.source && enter(node.source)),
      ImportExpression: (node) => void (node.source.type === 'Literal' && enter(node.source)),
    };
  },
);
